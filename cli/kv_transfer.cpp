#include "cli/kv_transfer.hpp"

#include "cli/options.hpp"
#include "protocol/golang/base64.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <strings.h>

namespace belay::cli {

namespace json = boost::json;

namespace {

int error(terminal t, const std::string& text) {
  t.err << text << "\n";
  return 1;
}

/// As Go writes a string: `<`, `>`, `&` escaped too.
std::string json_string(const std::string& text) {
  std::string out;
  for (char c : json::serialize(json::value(text)))
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  return out;
}

const json::value* member(const json::object& o, const char* name) {
  for (const auto& m : o)
    if (m.key().size() == std::char_traits<char>::length(name) &&
        ::strncasecmp(m.key().data(), name, m.key().size()) == 0)
      return &m.value();
  return nullptr;
}

} // namespace

std::string write_export(const std::vector<exported_key>& keys) {
  if (keys.empty())
    return "[]\n";
  std::string out = "[\n";
  for (const auto& k : keys) {
    out += "\t{\n\t\t\"key\": " + json_string(k.key) + ",\n\t\t\"flags\": " + std::to_string(k.flags) +
           ",\n\t\t\"value\": \"" + golang::base64(k.value) + "\"\n\t}";
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
  std::string prefix = o.words().empty() ? "" : o.words()[0];
  if (prefix.starts_with('/'))
    prefix = prefix.substr(1);
  auto client = o.client(t);
  if (!client)
    return 1;
  auto answer = client->ask("GET", "/v1/kv/" + escape_path(prefix), o.query().add("recurse"));
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
  std::string text = o.words()[0];
  if (text == "-") {
    text = std::string(std::istreambuf_iterator<char>(t.in), {});
  } else if (text.starts_with('@')) {
    std::ifstream file(text.substr(1), std::ios::binary);
    if (!file)
      return error(t, "Error! Failed to read file: open " + text.substr(1) + ": no such file or directory");
    std::ostringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  auto keys = read_export(text);
  if (!keys)
    return error(t, keys.error());
  auto client = o.client(t);
  if (!client)
    return 1;
  for (const auto& k : *keys) {
    auto query = o.query();
    if (k.flags != 0)
      query.add("flags", std::to_string(k.flags));
    auto answer = client->ask("PUT", "/v1/kv/" + escape_path(k.key), query, k.value);
    if (!answer || !answer->found())
      return error(t, "Error! Failed writing data for key " + k.key + ": " +
                          (answer ? answer->complaint() : answer.error()));
    t.out << "Imported: " << k.key << "\n";
  }
  return 0;
}

} // namespace belay::cli
