// Transactions and changes of the model server: docs/contract/05-txn.md, docs/reference/changes.md.
#include "tests/unit/client/model_server.hpp"
#include "tests/unit/client/model_texts.hpp"

#include "client/core/json_answers.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>

namespace belay::client_tests {

namespace json = boost::json;

namespace {

std::string text_at(const json::object& o, const char* name) {
  auto* v = o.if_contains(name);
  return v && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::uint64_t number_at(const json::object& o, const char* name) {
  auto* v = o.if_contains(name);
  return v ? v->to_number<std::uint64_t>() : 0;
}

std::string hex(std::uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(n));
  return text;
}

/// Maximum number of changes in a response: few, so that lists are truncated.
constexpr std::size_t changes_in_one_answer = 4;

} // namespace

std::string model_server::do_operation(const std::string& op, std::uint64_t index, std::vector<std::string>* results) {
  auto parsed = json::parse(op);
  auto o = parsed.as_object();
  auto verb = text_at(o, "Verb");
  auto key = text_at(o, "Key");
  auto& r = keys_[key];
  auto session = text_at(o, "Session");
  auto wanted = number_at(o, "Index");
  auto writes = [&] {
    r.value = detail::base64_decoded(text_at(o, "Value"));
    r.flags = number_at(o, "Flags");
    stamp(key, index);
  };
  bool shows = true;
  if (verb == "set") {
    writes();
  } else if (verb == "cas") {
    if (wanted != (r.value ? r.modify : 0))
      return "failed to set key \"" + key + "\", index is stale";
    writes();
  } else if (verb == "lock") {
    if (!sessions_.count(session))
      return "failed to lock key, invalid session";
    if (!r.session.empty() && r.session != session)
      return "failed to lock key, lock is already held";
    if (r.session.empty() && (time_.now() < r.delayed_until || !key_queues_[key].empty()))
      return "failed to lock key due to lock delay";
    bool fresh = r.session.empty();
    r.session = session;
    writes();
    if (fresh)
      r.fence = index;
  } else if (verb == "unlock") {
    if (r.session != session)
      return "failed to unlock key, lock isn't held, or is held by another session";
    r.session.clear();
    writes();
  } else if (verb == "check-index") {
    if (!r.value)
      return "key \"" + key + "\" doesn't exist";
    if (r.modify != wanted)
      return "failed index check for key";
  } else if (verb == "check-session") {
    if (!r.value)
      return "key \"" + key + "\" doesn't exist";
    if (r.session != session)
      return "failed session check for key";
  } else if (verb == "delete" || verb == "delete-cas") {
    shows = false;
    if (verb == "delete-cas" && r.value && r.modify != wanted)
      return "failed to delete key \"" + key + "\", index is stale";
    r.session.clear();
    if (r.value) {
      r.value.reset();
      stamp(key, index);
    }
  } else {
    return "unknown KV verb \"" + verb + "\"";
  }
  if (results && shows)
    results->push_back("{\"KV\":{\"Key\":" + detail::quoted_json(key) + ",\"ModifyIndex\":" + std::to_string(r.modify) +
                       "}}");
  return {};
}

void model_server::transaction(const request& q, const reply& done) {
  auto before = keys_;
  auto change_count = changes_.size();
  auto index = index_ + 1;
  json::array errors;
  std::vector<std::string> results;
  std::vector<std::string> touched;
  std::size_t number = 0;
  for (auto ops = json::parse(q.body()).as_array(); const auto& each : ops) {
    const auto& kv = each.at("KV").as_object();
    if (detail::base64_decoded(text_at(kv, "Value")).size() > value_bytes_max) {
      keys_ = std::move(before);
      changes_.resize(change_count);
      done(answer(413, "Value for key \"" + text_at(kv, "Key") + "\" is too large"));
      return;
    }
    touched.push_back(text_at(kv, "Key"));
    auto wrong = do_operation(json::serialize(kv), index, &results);
    if (!wrong.empty())
      errors.push_back(json::object{{"OpIndex", number}, {"What", wrong}});
    ++number;
  }
  if (!errors.empty()) {
    keys_ = std::move(before);
    changes_.resize(change_count);
    done(answer(409, json::serialize(json::object{{"Results", nullptr}, {"Errors", errors}})));
    return;
  }
  index_ = index;
  for (const auto& key : touched)
    grant_keys(key);
  std::string out;
  for (const auto& shown : results)
    out += (out.empty() ? "" : ",") + shown;
  done(answer(200, "{\"Results\":[" + out + "],\"Errors\":null}"));
}

std::optional<answer> model_server::look_at_changes(const std::string& prefix, const std::string& cursor, bool snapshot,
                                                    bool now) const {
  auto named = cursor.find('@');
  if (named != cursor.npos && history == 0)
    return answer(400, "Invalid index");
  auto dot = cursor.find('.');
  auto index = number(cursor.substr(0, dot));
  auto behind = std::pair(index, dot == cursor.npos ? UINT64_MAX : number(cursor.substr(dot + 1, named - dot - 1)));
  bool other = named != cursor.npos && cursor.substr(named + 1) != hex(history);
  if (other || (history != 0 && index > index_))
    return answer(410, "the index is of another history");
  json::array list;
  auto at = std::to_string(index_);
  if (snapshot) {
    for (const auto& [key, r] : keys_)
      if (starts_with(key, prefix) && r.value)
        list.push_back(json::object{{"Event", "set"},
                                    {"Key", shown(key)},
                                    {"Value", base64(*r.value)},
                                    {"Flags", r.flags},
                                    {"Session", r.session},
                                    {"PreviousIndex", 0},
                                    {"Index", r.modify}});
  } else if (index > 0) {
    if (index < floor_) {
      answer gone(410, "what happened behind that place is gone: the floor is " + std::to_string(floor_));
      gone.add_header("X-Belay-Oldest-Index", std::to_string(floor_));
      return gone;
    }
    for (const auto& c : changes_) {
      if (std::pair(c.index, c.number) <= behind || !starts_with(c.key, prefix))
        continue;
      if (list.size() == changes_in_one_answer) {
        at = std::string(list.back().at("ID").as_string());
        break;
      }
      auto id = std::to_string(c.index) + "." + std::to_string(c.number);
      json::value value = c.value.empty() ? json::value(nullptr) : json::value(base64(c.value));
      list.push_back(json::object{{"ID", id},
                                  {"Event", c.kind},
                                  {"Key", shown(c.key)},
                                  {"Value", value},
                                  {"Flags", c.flags},
                                  {"Session", c.session},
                                  {"PreviousIndex", c.previous},
                                  {"Index", c.index}});
    }
    if (list.empty() && !now)
      return std::nullopt;
  }
  answer a(200, json::serialize(list));
  a.add_header("X-Consul-Index", at);
  if (history != 0)
    a.add_header("X-Belay-Cursor", at + "@" + hex(history));
  return a;
}

model_server::archive model_server::save() const {
  archive a;
  for (const auto& [key, r] : keys_)
    if (r.value) {
      auto& kept = a.keys_[key];
      kept.value = r.value;
      kept.flags = r.flags;
      kept.modify = r.modify;
      kept.create = r.create;
    }
  return a;
}

void model_server::restore(const archive& a, std::uint64_t index, std::uint64_t history_then) {
  index_ = index + 1;
  history = history_then;
  keys_ = a.keys_;
  for (auto& [key, r] : keys_) {
    r.modify = std::min(r.modify, index_);
    r.create = std::min(r.create, index_);
    r.shown = r.modify;
  }
  forget_changes();
  changed();
}

std::uint64_t model_server::flags(const std::string& key) const {
  auto found = keys_.find(key);
  return found == keys_.end() ? 0 : found->second.flags;
}

void model_server::put_together(const std::map<std::string, std::string>& values) {
  ++index_;
  for (const auto& [key, value] : values) {
    keys_[key].value = value;
    stamp(key, index_);
  }
  changed();
}

void model_server::forget_changes() {
  changes_.clear();
  floor_ = index_;
}

std::map<std::string, std::string> model_server::all(const std::string& prefix) const {
  std::map<std::string, std::string> out;
  for (const auto& [key, r] : keys_)
    if (starts_with(key, prefix) && r.value)
      out[key] = *r.value;
  return out;
}

void model_server::erase(const std::string& key) {
  auto& r = keys_[key];
  if (!r.value)
    return;
  r.value.reset();
  stamp(key, ++index_);
  changed();
}

} // namespace belay::client_tests
