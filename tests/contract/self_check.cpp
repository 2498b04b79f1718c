#include "tests/contract/transcript_run.hpp"

#include "tests/harness/base64.hpp"

// An expectation that cannot fail proves nothing. So each part of it is falsified in turn.

namespace belay::contract {

namespace {

struct mutation {
  json::value wrong; ///< the whole expectation, with one part changed
  std::string where;
};

/// Puts each changed version of `part` (found at `where`) back into its context by calling `put`.
void mutate(const json::value& part, const std::string& where, std::string_view key,
            const std::function<void(json::value, const std::string&)>& put) {
  if (const auto* object = part.if_object()) {
    bool special = object->size() == 1 && std::string_view(object->begin()->key()).starts_with("~");
    if (special && object->begin()->key() == "~lacks")
      return;
    for (const auto& [name, member] : *object)
      mutate(member, where + "/" + std::string(name), name,
             [&, &name = name](json::value changed, const std::string& at) {
               auto copy = *object;
               copy[name] = std::move(changed);
               put(std::move(copy), at);
             });
    if (!where.empty() && key != "headers" && !special) {
      auto copy = *object;
      copy["UnexpectedField"] = "x";
      put(std::move(copy), where);
    }
  } else if (const auto* list = part.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      mutate((*list)[i], where + "/" + std::to_string(i), {}, [&](json::value changed, const std::string& at) {
        auto copy = *list;
        copy[i] = std::move(changed);
        put(std::move(copy), at);
      });
    auto copy = *list;
    copy.push_back("extra");
    put(std::move(copy), where);
  } else if (part.is_null() || part.is_bool()) {
    put("wrong", where);
  } else if (part.is_int64()) {
    put(part.get_int64() + 1, where);
  } else if (part.is_uint64()) {
    put(part.get_uint64() - 1, where);
  } else if (part.is_double()) {
    put(part.get_double() + 1, where);
  } else {
    auto text = plain_text(part);
    if (text.starts_with("~idx:"))
      put(text == "~idx:old" ? "~idx:1" : "~idx:old", where);
    else if (text.starts_with("~") && text != "~any")
      put("~lit:wrong", where);
    else if (key == "b64")
      put(json::value(harness::base64_encoded(harness::base64_decoded(text) + "x")), where);
    else if (text != "~any")
      put(json::value(text + "x"), where);
  }
}

} // namespace

bool transcript_run::noticed(std::size_t falsified, const json::object& wrong) const {
  matcher fresh(base_);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto& [step, reply, env] = results_[i];
    const auto* expected = step->if_contains("expect");
    if (i == falsified ? !fresh.reply(wrong, reply, env).empty()
                       : expected && !fresh.reply(expected->as_object(), reply, env).empty())
      return true;
  }
  return false;
}

std::vector<std::string> transcript_run::self_check(std::size_t& tried) const {
  std::vector<std::string> unnoticed;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto* expected = results_[i].step->if_contains("expect");
    if (!expected)
      continue;
    mutate(*expected, "", "expect", [&](json::value wrong, const std::string& where) {
      ++tried;
      if (!noticed(i, wrong.as_object()))
        unnoticed.push_back(describe(*results_[i].step) + ": " + where);
    });
  }
  return unnoticed;
}

} // namespace belay::contract
