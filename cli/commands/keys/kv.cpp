// `belay kv get|put|delete`, with the options, requests and texts of Consul's command line.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string number_text(const json::value& v) {
  boost::system::error_code ec;
  return std::to_string(v.to_number<std::uint64_t>(ec));
}

struct pair_row {
  std::string key, session, value;
  std::string create_index, modify_index, lock_index, flags;
};

result<std::vector<pair_row>> pair_rows(const std::string& body) {
  boost::system::error_code ec;
  auto v = json::parse(body, ec);
  if (ec || !v.is_array())
    return failure{"the response is not a list of keys"};
  std::vector<pair_row> out;
  for (const auto& one : v.get_array()) {
    auto* o = one.if_object();
    if (!o)
      return failure{"the response is not a list of keys"};
    pair_row p;
    const auto text = [&](const char* name) {
      auto* m = o->if_contains(name);
      return m && m->is_string() ? std::string(m->get_string()) : std::string();
    };
    const auto number = [&](const char* name) {
      auto* m = o->if_contains(name);
      return m ? number_text(*m) : std::string("0");
    };
    p.key = text("Key");
    p.session = text("Session");
    auto value = go_compat::decode_base64(text("Value"));
    if (!value)
      return value.reason();
    p.value = *value;
    p.create_index = number("CreateIndex");
    p.modify_index = number("ModifyIndex");
    p.lock_index = number("LockIndex");
    p.flags = number("Flags");
    out.push_back(std::move(p));
  }
  return out;
}

std::string detailed(const pair_row& p, bool base64) {
  return table({{"CreateIndex", p.create_index},
                {"Flags", p.flags},
                {"Key", p.key},
                {"LockIndex", p.lock_index},
                {"ModifyIndex", p.modify_index},
                {"Session", p.session.empty() ? "-" : p.session},
                {"Value", base64 ? go_compat::base64(p.value) : p.value}},
               6);
}

/// Whether the response to a write is `true`.
bool is_true(const api_answer& a) {
  return a.body.find("true") != a.body.npos;
}

/// Requests one key, all keys under a prefix (-recurse) or their names (-keys), and prints them as
/// values, in detail or as JSON.
int kv_get(const options& o, terminal t) {
  if (o.words().size() > 1)
    return error(t, "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto key = without_leading_slash(o.words().empty() ? "" : o.words()[0]);
  const bool recurse = o.on("recurse"), keys = o.on("keys");
  if (key.empty() && !recurse && !keys)
    return error(t, "Error! Missing KEY argument");
  const auto client = o.client(t);
  auto query = o.query();
  if (keys) {
    query.add("keys");
    if (auto separator = o.value("separator", "/"); !separator.empty())
      query.add("separator", separator);
  } else if (recurse) {
    query.add("recurse");
  }
  auto answer =
      value_of(client.ask("GET", "/v1/kv/" + go_compat::escape_path(key), query), t, "Error querying agent: ");
  if (answer.status == 404) {
    if (keys || recurse)
      return o.json() ? (t.out << "[]\n", 0) : 0;
    return error(t, "Error! No key exists at: " + key);
  }
  if (!answer.found())
    return error(t, "Error querying agent: " + answer.complaint());
  boost::system::error_code ec;
  if (o.json()) {
    const auto rows = json::parse(answer.body, ec);
    if (ec || !rows.is_array() || (!keys && !recurse && rows.get_array().size() != 1))
      return error(t, "Error querying agent: the response is not a list of keys");
    t.out << pretty(keys || recurse ? rows : rows.get_array()[0]);
    return 0;
  }
  if (keys) {
    auto list = json::parse(answer.body, ec);
    if (ec || !list.is_array())
      return error(t, "Error querying agent: the response is not a list of keys");
    for (const auto& k : list.get_array())
      t.out << (k.is_string() ? std::string_view(k.get_string()) : std::string_view()) << "\n";
    return 0;
  }
  auto found = value_of(pair_rows(answer.body), t, "Error querying agent: ");
  const bool base64 = o.on("base64");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& p = found[i];
    if (o.on("detailed"))
      t.out << (i ? "\n" : "") << detailed(p, base64);
    else
      t.out << (recurse ? p.key + ":" : "") << (base64 ? go_compat::base64(p.value) : p.value) << "\n";
  }
  return 0;
}

/// Writes a key, or with -cas, -acquire and -release conditionally: each has messages of its own,
/// which are Consul's.
int kv_put(const options& o, terminal t) {
  if (o.words().empty())
    return error(t, "Error! Missing KEY argument");
  if (o.words().size() > 2)
    return error(t, "Error! Too many arguments (expected 1 or 2, got " + std::to_string(o.words().size()) + ")");
  const auto& key = o.words()[0];
  auto value = value_of(value_given(o.words().size() == 2 ? o.words()[1] : "", t.in), t, "Error! ");
  if (o.on("base64"))
    value = value_of(go_compat::decode_base64(value), t, "Error! Cannot base 64 decode data: ");
  const bool cas = o.on("cas"), acquire = o.on("acquire"), release = o.on("release");
  if (cas && !o.given("modify-index"))
    return error(t, "Must specify -modify-index with -cas!");
  if ((acquire || release) && o.value("session").empty())
    return error(t, "Error! Missing -session (required with -acquire and -release)");
  if (key.starts_with('/'))
    return error(t, "Error! Failed writing data: Invalid key. Key must not begin with a '/': " + key);
  const auto client = o.client(t);
  auto query = o.query();
  if (o.given("flags"))
    query.add("flags", o.value("flags"));
  if (cas)
    query.add("cas", o.value("modify-index"));
  else if (acquire)
    query.add("acquire", o.value("session"));
  else if (release)
    query.add("release", o.value("session"));
  api_request request{"PUT", "/v1/kv/" + go_compat::escape_path(key), query};
  request.body = value;
  request.idempotency_key = o.value("idempotency-key");
  auto answer = client.ask(std::move(request));
  const auto complaint = complaint_about(answer);
  const bool ok = complaint.empty() && is_true(*answer);
  if (cas)
    return ok ? succeed(o, t, "Success! Data written to: " + key, {{"Key", key}})
              : error(t, "Error! Did not write to " + key + ": " + (complaint.empty() ? "CAS failed" : complaint));
  if (!complaint.empty())
    return error(t, "Error! Failed writing data: " + complaint);
  if (acquire)
    return ok ? succeed(o, t, "Success! Lock acquired on: " + key, {{"Key", key}})
              : error(t, "Error! Did not acquire lock");
  if (release)
    return ok ? succeed(o, t, "Success! Lock released on: " + key, {{"Key", key}})
              : error(t, "Error! Did not release lock");
  return ok ? succeed(o, t, "Success! Data written to: " + key, {{"Key", key}})
            : error(t, "Error! Failed writing data: " + answer->body);
}

int kv_add(const options& o, terminal t) {
  if (o.words().size() != 1)
    return error(t, "Error! Exactly one KEY is required");
  const auto key = without_leading_slash(o.words()[0]);
  const auto client = o.client(t);
  api_request request{"PUT", "/v1/kv/" + go_compat::escape_path(key), o.query()};
  request.query.add("add", o.value("by", "1"));
  for (const auto* bound : {"min", "max"})
    if (o.given(bound))
      request.query.add(bound, o.value(bound));
  request.idempotency_key = o.value("idempotency-key");
  const auto answer = answer_of(client.ask(std::move(request)), t, "Error! Did not add to " + key + ": ");
  boost::system::error_code ec;
  const auto sum = json::parse(answer.body, ec);
  if (ec || !sum.is_object())
    return error(t, "Error! Did not add to " + key + ": " + answer.header("x-belay-reason"));
  t.out << (o.json() ? pretty(sum) : json::serialize(sum.get_object().at("Value")) + "\n");
  return 0;
}

int kv_delete(const options& o, terminal t) {
  if (o.words().size() > 1)
    return error(t, "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")");
  const auto key = without_leading_slash(o.words().empty() ? "" : o.words()[0]);
  const bool recurse = o.on("recurse"), cas = o.on("cas");
  if (key.empty() && !recurse)
    return error(t, "Error! Missing KEY argument");
  if (cas && recurse)
    return error(t, "Cannot specify both -cas and -recurse!");
  if (cas && o.number("modify-index") == 0)
    return error(t, "Must specify -modify-index with -cas!");
  if (!cas && o.given("modify-index"))
    return error(t, "Cannot specify -modify-index without -cas!");
  const auto client = o.client(t);
  auto query = o.query();
  if (recurse)
    query.add("recurse");
  if (cas)
    query.add("cas", o.value("modify-index"));
  auto answer = client.ask("DELETE", "/v1/kv/" + go_compat::escape_path(key), query);
  const auto complaint = complaint_about(answer);
  if (!complaint.empty())
    return error(t, std::string("Error! Did not delete ") + (recurse ? "prefix " : "key ") + key + ": " + complaint);
  if (recurse)
    return succeed(o, t, "Success! Deleted keys with prefix: " + key, {{"Prefix", key}});
  if (cas && !is_true(*answer))
    return error(t, "Error! Did not delete key " + key + ": CAS failed");
  return succeed(o, t, "Success! Deleted key: " + key, {{"Key", key}});
}

constexpr flag cas_flag = {"cas", flag_kind::toggle, "", "write only if the key has not changed since -modify-index"};
constexpr flag modify_index_flag = {"modify-index", flag_kind::unsigned_number, "<index>",
                                    "ModifyIndex that the key had when it was read; for -cas"};

constexpr flag idempotency_key_flag = {"idempotency-key", flag_kind::text, "<key>",
                                       "idempotency key: repeats with the same key take effect once"};

} // namespace

std::vector<command> kv_commands() {
  using enum flag_kind;
  return {
      {.name = "kv add",
       .help = "Add to the number in a key",
       .operands = "KEY",
       .text = "Prints the sum. A missing key counts as 0.",
       .flags = {{"by", text, "<number>", "number to add; negative to subtract (default 1)"},
                 idempotency_key_flag,
                 {"max", text, "<number>", "maximum: larger sums are rejected"},
                 {"min", text, "<number>", "minimum: smaller sums are rejected"}},
       .examples = {{"kv add visits", "Add one"},
                    {"kv add -by=-3 -min=0 stock/bolts", "Subtract three, if at least three are left"}},
       .run = kv_add},
      {.name = "kv delete",
       .help = "Delete a key, or all keys under a prefix",
       .operands = "KEY_OR_PREFIX",
       .flags = {cas_flag, modify_index_flag, {"recurse", toggle, "", "select all keys under this prefix"}},
       .examples = {{"kv delete app/port", "Delete one key; a missing key is not an error"},
                    {"kv delete -recurse app/", "Delete all keys under app/"}},
       .run = kv_delete},
      {.name = "kv get",
       .help = "Read a key, or all keys under a prefix",
       .operands = "[KEY_OR_PREFIX]",
       .text = "Prints the value unchanged, and a line break. A missing key is an error; a prefix without keys is\n"
               "not.",
       .flags = {{"base64", toggle, "", "print values in base64"},
                 {"detailed", toggle, "", "also print flags, indexes and session"},
                 {"keys", toggle, "", "print names only"},
                 {"recurse", toggle, "", "select all keys under this prefix"},
                 {"separator", text, "<text>", "with -keys: group names at this separator (default /)"}},
       .examples = {{"kv get app/port", "Print the value of one key"},
                    {"kv get -recurse app/", "Print key:value for all keys under app/"},
                    {"kv get -keys -separator= app/", "Print all names under app/, not only the next level"}},
       .run = kv_get},
      {.name = "kv put",
       .help = "Write a key",
       .operands = "KEY [DATA | @FILE | -]",
       .text = "The value is DATA, the content of FILE, or the standard input (-). The default is an empty value.",
       .flags = {{"acquire", toggle, "", "acquire the lock of the key for -session"},
                 {"base64", toggle, "", "DATA is base64"},
                 cas_flag,
                 {"flags", unsigned_number, "<number>", "number that is stored with the key, for its readers"},
                 idempotency_key_flag,
                 modify_index_flag,
                 {"release", toggle, "", "release the lock that -session holds"},
                 {"session", text, "<id>", "session for -acquire and -release"}},
       .examples = {{"kv put app/port 8080", "Write one key"},
                    {"kv put app/config @config.json", "Write the content of a file"},
                    {"kv put -cas -modify-index=123 app/port 8081",
                     "Write only if the key has not changed since index 123"}},
       .run = kv_put},
  };
}

} // namespace belay::cli
