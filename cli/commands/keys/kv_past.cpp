// `belay kv history|revert`: earlier values of keys (docs/reference/changes.md).

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/parse.hpp>

#include <optional>
#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string text_of(const json::object& o, const char* name) {
  const auto* m = o.if_contains(name);
  return m != nullptr && m->is_string() ? std::string(m->get_string()) : std::string();
}
std::string number_of(const json::object& o, const char* name) {
  const auto* m = o.if_contains(name);
  boost::system::error_code ec;
  return m == nullptr ? "0" : std::to_string(m->to_number<std::uint64_t>(ec));
}

std::string key_given(const options& o) {
  return o.words().size() == 1 ? std::string(without_leading_slash(o.words()[0])) : std::string();
}

result<json::array> list_in(const std::string& body) {
  boost::system::error_code ec;
  auto v = json::parse(body, ec);
  if (ec || !v.is_array())
    return failure{"the response is not a list"};
  return std::move(v.get_array());
}

int kv_history(const options& o, terminal t) {
  const auto key = key_given(o);
  if (key.empty())
    return error(t, "Error! One KEY is required");
  const auto client = o.client(t);
  auto query = o.query();
  query.add("history");
  auto answer =
      answer_of(client.ask("GET", "/v1/kv/" + go_compat::escape_path(key), query), t, "Error querying agent: ");
  auto list = value_of(list_in(answer.body), t, "Error querying agent: ");
  if (o.json()) {
    t.out << pretty(json::value(list));
    return 0;
  }
  for (const auto& each : list) {
    const auto* change = each.if_object();
    if (change == nullptr)
      continue;
    const auto value = go_compat::decode_base64(text_of(*change, "Value"));
    t.out << number_of(*change, "Index") << ' ' << text_of(*change, "Event");
    if (text_of(*change, "Event") == "set")
      t.out << ' ' << (o.on("base64") || !value ? text_of(*change, "Value") : *value);
    t.out << '\n';
  }
  return 0;
}

/// Reads one row; an empty object: there is none.
result<json::object> row_read(const api_client& client, const std::string& key, const api_query& query) {
  auto answer = client.ask("GET", "/v1/kv/" + go_compat::escape_path(key), query);
  if (answer && answer->status == 404)
    return json::object{};
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return failure{complaint};
  auto list = list_in(answer->body);
  if (!list)
    return list.reason();
  if (list->size() != 1 || !list->front().is_object())
    return failure{"the response is not a single key"};
  return list->front().get_object();
}

int kv_revert(const options& o, terminal t) {
  const auto key = key_given(o);
  if (key.empty())
    return error(t, "Error! One KEY is required");
  if (!o.given("to"))
    return error(t, "Error! Missing -to: the index whose value is restored");
  const auto client = o.client(t);
  const auto failed = [&](const std::string& why) { return error(t, "Error! Did not revert " + key + ": " + why); };
  auto consistent = o.write_query();
  consistent.add("consistent");
  auto then = consistent;
  then.add("at", o.value("to"));
  const auto now = row_read(client, key, consistent);
  if (!now)
    return failed(now.error());
  const auto was = row_read(client, key, then);
  if (!was)
    return failed(was.error());
  if (was->empty() && now->empty())
    return succeed(o, t, "Success! The key does not exist, as at that index: " + key, {{"Key", key}});
  const auto value = go_compat::decode_base64(text_of(*was, "Value"));
  if (!value)
    return failed(value.error());
  auto write = o.write_query();
  write.add("cas", number_of(*now, "ModifyIndex"));
  if (!was->empty())
    write.add("flags", number_of(*was, "Flags"));
  const auto path = "/v1/kv/" + go_compat::escape_path(key);
  auto answer = was->empty() ? client.ask("DELETE", path, write) : client.ask("PUT", path, write, *value);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return failed(complaint);
  if (answer->body.find("true") == std::string::npos)
    return failed("it has changed meanwhile; run the command again");
  return succeed(o, t, (was->empty() ? "Success! Deleted, as at that index: " : "Success! Reverted: ") + key,
                 {{"Key", key}});
}

} // namespace

std::vector<command> kv_past_commands() {
  using enum flag_kind;
  return {
      {.name = "kv history",
       .help = "Show recent changes of a key",
       .operands = "KEY",
       .text = "Prints the changes that the server has retained, newest first: index, kind, value.",
       .flags = {{"base64", toggle, "", "print values in base64"}},
       .examples = {{"kv history app/port", "Print a line for each change"},
                    {"kv history -http-addr=http://10.0.0.1:8500 app/port", "Print what another server has retained"}},
       .run = kv_history},
      {.name = "kv revert",
       .help = "Restore an earlier value of a key",
       .operands = "KEY",
       .text = "Writes the value and flags that the key had after the log entry with that index, or deletes the key\n"
               "if it did not exist then. Fails if the key changes meanwhile, or if the server no longer has the\n"
               "changes since then.",
       .flags = {{"to", text, "<index>",
                  "index of the log entry; with @HISTORY, as in X-Belay-Cursor, only in this history"}},
       .examples = {{"kv revert -to=4711 app/port", "Undo the changes after index 4711"},
                    {"kv revert -to=4711 -token=SECRET app/port", "The same with a token"}},
       .run = kv_revert},
  };
}

} // namespace belay::cli
