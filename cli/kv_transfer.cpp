#include "cli/kv_transfer.hpp"

#include "cli/options.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/golang/base64.hpp"
#include "protocol/golang/json_output.hpp"
#include "protocol/golang/url.hpp"

#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

const json::value* member(const json::object& o, const char* name) {
  for (const auto& m : o)
    if (equal_ignoring_case({m.key().data(), m.key().size()}, name))
      return &m.value();
  return nullptr;
}

} // namespace

std::string write_export(const std::vector<exported_key>& keys) {
  if (keys.empty())
    return "[]\n";
  std::string out = "[\n";
  for (const auto& k : keys) {
    out += "\t{\n\t\t\"key\": ";
    golang::append_json_string(out, k.key);
    out += ",\n\t\t\"flags\": " + std::to_string(k.flags) + ",\n\t\t\"value\": \"";
    golang::append_base64(out, k.value);
    out += "\"\n\t}";
    out += &k == &keys.back() ? "\n" : ",\n";
  }
  return out + "]\n";
}

result<std::vector<exported_key>> read_export(std::string_view text) {
  boost::system::error_code ec;
  auto v = json::parse(text, ec);
  if (ec)
    return failure{"Cannot unmarshal data: " + ec.message()};
  if (v.is_null())
    return std::vector<exported_key>{};
  if (!v.is_array())
    return failure{"Cannot unmarshal data: it is not a list"};
  std::vector<exported_key> out;
  for (const auto& one : v.get_array()) {
    const auto* o = one.if_object();
    if (!o)
      return failure{"Cannot unmarshal data: an entry is not an object"};
    exported_key k;
    if (const auto* m = member(*o, "key")) {
      if (!m->is_string())
        return failure{"Cannot unmarshal data: a key is not a string"};
      k.key = std::string(m->get_string());
    }
    if (const auto* m = member(*o, "flags"); m && !m->is_null()) {
      k.flags = m->to_number<std::uint64_t>(ec);
      if (ec)
        return failure{"Cannot unmarshal data: flags of key " + k.key + " are not an unsigned number"};
    }
    if (const auto* m = member(*o, "value"); m && !m->is_null()) {
      if (!m->is_string())
        return failure{"Cannot unmarshal data: value of key " + k.key + " is not a string"};
      auto value = golang::decode_base64(std::string_view(m->get_string()));
      if (!value)
        return failure{"Error base 64 decoding value for key " + k.key + ": " + value.error()};
      k.value = *value;
    }
    out.push_back(std::move(k));
  }
  return out;
}

int kv_export(const arguments& args, terminal t) {
  options o("kv export [options] [PREFIX]", {}, {});
  if (auto code = o.parse(args, t))
    return *code;
  if (o.words().size() > 1)
    return error(t, "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto prefix = without_leading_slash(o.words().empty() ? "" : o.words()[0]);
  auto client = o.client(t);
  if (!client)
    return 1;
  auto answer = client->ask("GET", "/v1/kv/" + golang::escape_path(prefix), o.query().add("recurse"));
  if (!answer)
    return error(t, "Error querying agent: " + answer.error());
  if (answer->status == 404) {
    t.out << write_export({});
    return 0;
  }
  if (!answer->found())
    return error(t, "Error querying agent: " + answer->complaint());
  // The API's list has the same names in capitals, and more besides.
  auto keys = read_export(answer->body);
  if (!keys)
    return error(t, "Error querying agent: " + keys.error());
  t.out << write_export(*keys);
  return 0;
}

int kv_import(const arguments& args, terminal t) {
  options o("kv import [options] [DATA | @FILE | -]", {}, {});
  if (auto code = o.parse(args, t))
    return *code;
  if (o.words().size() != 1)
    return error(t, o.words().empty()
                        ? "Error! Missing DATA argument"
                        : "Error! Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto text = value_given(o.words()[0], t.in);
  if (!text)
    return error(t, "Error! " + text.error());
  auto keys = read_export(*text);
  if (!keys)
    return error(t, keys.error());
  auto client = o.client(t);
  if (!client)
    return 1;
  for (const auto& k : *keys) {
    auto query = o.query();
    if (k.flags != 0)
      query.add("flags", std::to_string(k.flags));
    auto answer = client->ask("PUT", "/v1/kv/" + golang::escape_path(k.key), query, k.value);
    if (const auto complaint = complaint_about(answer); !complaint.empty())
      return error(t, "Error! Failed writing data for key " + k.key + ": " + complaint);
    t.out << "Imported: " << k.key << "\n";
  }
  return 0;
}

} // namespace belay::cli
