// `belay session create|destroy|list|info|renew|explain`, which Consul has only in its API.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

std::string one_word(const options& o, terminal t) {
  if (o.words().size() == 1)
    return o.words()[0];
  const auto too_many = "Too many arguments (expected 1, got " + std::to_string(o.words().size()) + ")";
  throw command_ended{o.wrong_usage(t, o.words().empty() ? "Missing ID argument" : too_many)};
}

int create_session(const options& o, terminal t) {
  json::object wanted;
  for (const auto& [flag_name, name] : {std::pair("name", "Name"),
                                        {"node", "Node"},
                                        {"ttl", "TTL"},
                                        {"lock-delay", "LockDelay"},
                                        {"behavior", "Behavior"}})
    if (o.given(flag_name))
      wanted.emplace(name, o.value(flag_name));
  json::array checks;
  for (const auto& check : o.values("node-check"))
    if (!check.empty())
      checks.emplace_back(check);
  if (o.given("node-check") || o.given("ttl")) // with a TTL, no check ends it: docs/guides/locks.md
    wanted.emplace("NodeChecks", std::move(checks));
  const auto client = o.client(t);
  const auto answer = answer_of(client.ask("PUT", "/v1/session/create", o.write_query(), compact(wanted)), t,
                                "Error creating session: ");
  boost::system::error_code ec;
  const auto made = json::parse(answer.body, ec);
  if (ec || member_text(made, "ID").empty())
    return error(t, "Error creating session: the response has no ID");
  t.out << (o.json() ? pretty(made) : member_text(made, "ID") + "\n");
  return 0;
}

int destroy_session(const options& o, terminal t) {
  const auto id = one_word(o, t);
  return show_outcome(o, t, "/v1/session/destroy/" + go_compat::escape_path(id), o.write_query(),
                      "Error destroying session: ", "Session destroyed: " + id, {{"ID", id}});
}

std::string time_text(const json::value& session, std::string_view name) {
  boost::system::error_code ec;
  const auto* v = member(session, name);
  const auto ns = v != nullptr && v->is_number() ? v->to_number<std::int64_t>(ec) : 0;
  return go_compat::format_duration(std::chrono::nanoseconds(ns));
}

std::string sessions_text(const options&, const json::value& sessions) {
  std::vector<std::vector<std::string>> rows = {{"ID", "Node", "TTL", "LockDelay", "Behavior", "Name"}};
  for (const auto& s : elements(&sessions))
    rows.push_back({member_text(s, "ID"), member_text(s, "Node"),
                    member_text(s, "TTL").empty() ? "-" : member_text(s, "TTL"), time_text(s, "LockDelay"),
                    member_text(s, "Behavior"), member_text(s, "Name")});
  return rows.size() == 1 ? std::string() : table(rows);
}

int list_sessions(const options& o, terminal t) {
  const auto node = o.value("node");
  return show(o, t, node.empty() ? "/v1/session/list" : "/v1/session/node/" + go_compat::escape_path(node), o.query(),
              "Error listing sessions: ", sessions_text);
}

std::string session_text(const json::value& s) {
  std::vector<std::vector<std::string>> rows;
  for (const auto* name : {"ID", "Name", "Node", "TTL", "Behavior", "CreateIndex", "ModifyIndex"})
    rows.push_back({name, member_text(s, name).empty() ? "-" : member_text(s, name)});
  rows.push_back({"LockDelay", time_text(s, "LockDelay")});
  std::vector<std::string> checks;
  for (const auto& check : elements(member(s, "NodeChecks")))
    checks.push_back(text_of(&check));
  rows.push_back({"NodeChecks", checks.empty() ? "-" : joined(checks, ",")});
  return table(rows, 6);
}

int info_session(const options& o, terminal t) {
  const auto id = one_word(o, t);
  const auto client = o.client(t);
  const auto answer = value_of(client.get_json("/v1/session/info/" + go_compat::escape_path(id), o.query()), t,
                               "Error reading session: ");
  if (elements(&answer).empty())
    return error(t, "Error! No session exists with ID: " + id);
  const auto& session = elements(&answer)[0];
  t.out << (o.json() ? pretty(session) : session_text(session));
  return 0;
}

int renew_session(const options& o, terminal t) {
  const auto id = one_word(o, t);
  const auto client = o.client(t);
  const auto answer = answer_of(client.ask("PUT", "/v1/session/renew/" + go_compat::escape_path(id), o.write_query()),
                                t, "Error renewing session: ");
  json::object facts{{"ID", id}};
  auto line = "Session renewed: " + id;
  if (const auto left = answer.number("x-belay-session-ttl-ms")) {
    line += " (" + go_compat::format_duration(std::chrono::milliseconds(*left)) + " left)";
    constexpr const auto& remaining = renamed(name_kind::printed, "TTLRemainingMs");
    facts.emplace(remaining.name, *left);
    facts.emplace(remaining.old_name, *left);
  }
  return succeed(o, t, line, std::move(facts));
}

std::string end_text(const json::value& end) {
  boost::system::error_code ec;
  const auto* ago = member(end, "EndedMsAgo");
  const auto ms = ago != nullptr && ago->is_number() ? ago->to_number<std::int64_t>(ec) : 0;
  std::vector<std::string> released;
  for (const auto& one : elements(member(end, "Released")))
    released.push_back(member_text(one, "Lock").empty() ? "claim " + member_text(one, "Claim")
                                                        : "lock " + member_text(one, "Lock"));
  std::vector<std::vector<std::string>> rows;
  for (const auto* name : {"ID", "Name", "Node", "Cause"})
    rows.push_back({name, member_text(end, name).empty() ? "-" : member_text(end, name)});
  rows.push_back({"Ago", go_compat::format_duration(std::chrono::milliseconds(ms))});
  rows.push_back({"Index", member_text(end, "Index")});
  rows.push_back({"Released", released.empty() ? "-" : joined(released, ", ")});
  if (const auto more = member_text(end, "ReleasedCount"); more != std::to_string(released.size()))
    rows.push_back({"ReleasedCount", more});
  if (member_text(end, "OnEndDone") != "0" || member_text(end, "OnEndRefused") != "0")
    rows.push_back(
        {"OnEnd", member_text(end, "OnEndDone") + " done, " + member_text(end, "OnEndRefused") + " refused"});
  return table(rows, 6);
}

int explain_end(const options& o, terminal t) {
  const auto id = one_word(o, t);
  const auto client = o.client(t);
  const auto answer = client.ask("GET", "/v1/session/ended/" + go_compat::escape_path(id), o.query());
  if (answer && answer->status == 404)
    return error(t, "Error! No end is recorded for a session with ID: " + id);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error reading session: " + complaint);
  boost::system::error_code ec;
  const auto end = json::parse(answer->body, ec);
  if (ec || !end.is_object())
    return error(t, "Error reading session: the response does not describe a session");
  t.out << (o.json() ? pretty(end) : end_text(end));
  return 0;
}

} // namespace

std::vector<command> session_commands() {
  using enum flag_kind;
  return {
      {.name = "session create",
       .help = "Create a session",
       .text = "Prints the ID. Without -ttl, the check serfHealth of the node ends the session when it becomes\n"
               "critical. With -ttl, no check ends it except those of -node-check.",
       .flags = {{"behavior", text, "release|delete",
                  "action on the locked keys when the session ends (default release)"},
                 {"lock-delay", text, "<duration>",
                  "lock delay: time after the end of the session in which its locks are not granted (default 15s)"},
                 {"name", text, "<name>", "description for humans"},
                 {"node", text, "<node>", "node of the session (default: that of the server)"},
                 {"node-check", list, "<check>", "check that ends the session when it becomes critical"},
                 {"ttl", text, "<duration>",
                  "time without renewal after which the session expires, at the latest after twice that"}},
       .examples = {{"session create -ttl=30s -name=backup",
                     "Create it with a TTL; renew it with `belay session renew ID` every 15 s"},
                    {"session create -node=n1 -behavior=delete", "Delete its keys when the node n1 fails"}},
       .run = create_session},
      {.name = "session destroy",
       .help = "Destroy a session",
       .operands = "ID",
       .text = "Its locks are released, and are not granted during the lock delay. Release them first if you hold\n"
               "them.",
       .examples = {{"session destroy 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2",
                     "Destroy one session; a missing session is not an error"},
                    {"session destroy $(belay session list -format=json | jq -r '.[0].ID')",
                     "Destroy the first session of the list"}},
       .run = destroy_session},
      {.name = "session info",
       .help = "Show a session",
       .operands = "ID",
       .examples = {{"session info 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Print all fields"},
                    {"session info -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Print it as JSON"}},
       .run = info_session},
      {.name = "session list",
       .help = "List sessions",
       .flags = {{"node", text, "<node>", "only sessions of this node"}},
       .examples = {{"session list", "List all sessions"}, {"session list -node=n1", "List the sessions of one node"}},
       .run = list_sessions},
      {.name = "session renew",
       .help = "Renew a session",
       .operands = "ID",
       .examples = {{"session renew 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Print the time until it expires"},
                    {"session renew -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Print it as JSON"}},
       .run = renew_session},
      {.name = "session explain",
       .help = "Explain why a session has ended",
       .operands = "ID",
       .text = "Servers remember the last 10,000 ended sessions. They have no entry for a live session.",
       .examples = {{"session explain 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Print the cause, and what was released"},
                    {"session explain -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2 | jq -r .Cause",
                     "Print only the cause"}},
       .run = explain_end},
  };
}

} // namespace belay::cli
