// `belay session create|destroy|list|info|renew|why`, which Consul has only in its API.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"
#include "protocol/golang/duration.hpp"
#include "protocol/golang/url.hpp"

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
    return error(t, "Error creating session: the answer has no ID");
  t.out << (o.json() ? pretty(made) : member_text(made, "ID") + "\n");
  return 0;
}

int destroy_session(const options& o, terminal t) {
  const auto id = one_word(o, t);
  return tell(o, t, "/v1/session/destroy/" + golang::escape_path(id), o.write_query(),
              "Error destroying session: ", "Session destroyed: " + id, {{"ID", id}});
}

std::string time_text(const json::value& session, std::string_view name) {
  boost::system::error_code ec;
  const auto* v = member(session, name);
  const auto ns = v != nullptr && v->is_number() ? v->to_number<std::int64_t>(ec) : 0;
  return golang::format_duration(std::chrono::nanoseconds(ns));
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
  return show(o, t, node.empty() ? "/v1/session/list" : "/v1/session/node/" + golang::escape_path(node), o.query(),
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
  const auto answer =
      value_of(client.get_json("/v1/session/info/" + golang::escape_path(id), o.query()), t, "Error reading session: ");
  if (elements(&answer).empty())
    return error(t, "Error! No session exists with ID: " + id);
  const auto& session = elements(&answer)[0];
  t.out << (o.json() ? pretty(session) : session_text(session));
  return 0;
}

int renew_session(const options& o, terminal t) {
  const auto id = one_word(o, t);
  const auto client = o.client(t);
  const auto answer = answer_of(client.ask("PUT", "/v1/session/renew/" + golang::escape_path(id), o.write_query()), t,
                                "Error renewing session: ");
  json::object facts{{"ID", id}};
  auto line = "Session renewed: " + id;
  if (const auto left = answer.number("x-belay-session-ttl-ms")) {
    line += " (" + golang::format_duration(std::chrono::milliseconds(*left)) + " left)";
    facts.emplace("TTLLeftMs", *left);
  }
  return succeed(o, t, line, std::move(facts));
}

std::string end_text(const json::value& end) {
  boost::system::error_code ec;
  const auto* ago = member(end, "AgoMs");
  const auto ms = ago != nullptr && ago->is_number() ? ago->to_number<std::int64_t>(ec) : 0;
  std::vector<std::string> released;
  for (const auto& one : elements(member(end, "Released")))
    released.push_back(member_text(one, "Lock").empty() ? "claim " + member_text(one, "Claim")
                                                        : "lock " + member_text(one, "Lock"));
  std::vector<std::vector<std::string>> rows;
  for (const auto* name : {"ID", "Name", "Node", "Cause"})
    rows.push_back({name, member_text(end, name).empty() ? "-" : member_text(end, name)});
  rows.push_back({"Ago", golang::format_duration(std::chrono::milliseconds(ms))});
  rows.push_back({"Index", member_text(end, "Index")});
  rows.push_back({"Released", released.empty() ? "-" : joined(released, ", ")});
  if (const auto more = member_text(end, "ReleasedCount"); more != std::to_string(released.size()))
    rows.push_back({"ReleasedCount", more});
  if (member_text(end, "OnEndDone") != "0" || member_text(end, "OnEndRefused") != "0")
    rows.push_back(
        {"OnEnd", member_text(end, "OnEndDone") + " done, " + member_text(end, "OnEndRefused") + " refused"});
  return table(rows, 6);
}

int why_session_ended(const options& o, terminal t) {
  const auto id = one_word(o, t);
  const auto client = o.client(t);
  const auto answer = client.ask("GET", "/v1/session/ended/" + golang::escape_path(id), o.query());
  if (answer && answer->status == 404)
    return error(t, "Error! Nothing is known of the end of a session with ID: " + id);
  if (const auto complaint = complaint_about(answer); !complaint.empty())
    return error(t, "Error reading session: " + complaint);
  boost::system::error_code ec;
  const auto end = json::parse(answer->body, ec);
  if (ec || !end.is_object())
    return error(t, "Error reading session: the answer is not about a session");
  t.out << (o.json() ? pretty(end) : end_text(end));
  return 0;
}

} // namespace

std::vector<command> session_commands() {
  using enum flag_kind;
  return {
      {.name = "session create",
       .help = "Makes a session",
       .text = "Prints its ID. With -ttl no check can end it unless -node-check names one; without it the check "
               "serfHealth of the node does.",
       .flags = {{"behavior", text, "release|delete", "what happens to its keys when it ends (default release)"},
                 {"lock-delay", text, "<duration>", "how long nobody gets its locks after it ended (default 15s)"},
                 {"name", text, "<name>", "for people who look"},
                 {"node", text, "<node>", "node it belongs to (default: the one that is asked)"},
                 {"node-check", list, "<check>", "check that ends it when it becomes critical"},
                 {"ttl", text, "<duration>",
                  "it ends if it is not renewed for so long, at the latest after twice that"}},
       .examples = {{"session create -ttl=30s -name=backup", "Renew it with `belay session renew ID` every 15 s"},
                    {"session create -node=n1 -behavior=delete", "Its keys are removed when the node n1 is lost"}},
       .run = create_session},
      {.name = "session destroy",
       .help = "Ends a session",
       .operands = "ID",
       .text = "Its locks are released, and nobody gets them for its lock delay: release them first if you hold them.",
       .examples = {{"session destroy 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2",
                     "Ends one; it is no error if there is none"},
                    {"session destroy $(belay session list -format=json | jq -r '.[0].ID')", "The first one there is"}},
       .run = destroy_session},
      {.name = "session info",
       .help = "Shows a session",
       .operands = "ID",
       .examples = {{"session info 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "All about it"},
                    {"session info -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "The same for programs"}},
       .run = info_session},
      {.name = "session list",
       .help = "Lists sessions",
       .flags = {{"node", text, "<node>", "only those of this node"}},
       .examples = {{"session list", "All sessions"}, {"session list -node=n1", "Those of one node"}},
       .run = list_sessions},
      {.name = "session renew",
       .help = "Lets the TTL of a session begin anew",
       .operands = "ID",
       .examples = {{"session renew 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "Tells how long it lives now"},
                    {"session renew -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "The same for programs"}},
       .run = renew_session},
      {.name = "session why",
       .help = "Tells why a session has ended",
       .operands = "ID",
       .text = "Servers know it of the last 10,000 sessions that have ended. Of one that lives, nothing is known.",
       .examples = {{"session why 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2", "The cause, and what was released"},
                    {"session why -format=json 84e36472-e0a5-4d7b-9b60-96f6c7c1f2a2 | jq -r .Cause",
                     "The cause alone"}},
       .run = why_session_ended},
  };
}

} // namespace belay::cli
