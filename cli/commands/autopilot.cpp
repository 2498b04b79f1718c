// `belay operator autopilot get-config|set-config`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

constexpr auto autopilot_path = "/v1/operator/autopilot/configuration";

std::string autopilot_text(const options&, const json::value& c) {
  std::string out;
  for (const auto* name :
       {"CleanupDeadServers", "LastContactThreshold", "MaxTrailingLogs", "MinQuorum", "ServerStabilizationTime"})
    out += std::string(name) + " = " + member_text(c, name) + "\n";
  out += "RedundancyZoneTag = " + go_compat::quoted(member_text(c, "RedundancyZoneTag")) + "\n";
  out += "DisableUpgradeMigration = " + member_text(c, "DisableUpgradeMigration") + "\n";
  return out + "UpgradeVersionTag = " + go_compat::quoted(member_text(c, "UpgradeVersionTag")) + "\n";
}

int get_config(const options& o, terminal t) {
  return show(o, t, autopilot_path, o.query(), "Error querying Autopilot configuration: ", autopilot_text);
}

int set_config(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto now = client.get_json(autopilot_path, o.query());
  if (!now || !now->is_object())
    return error(t, "Error querying Autopilot configuration: " + (now ? "it is not a JSON object" : now.error()));
  json::object c = now->get_object();
  const auto index = member_text(*now, "ModifyIndex");
  for (const auto& [flag_name, name] : {std::pair("cleanup-dead-servers", "CleanupDeadServers"),
                                        {"disable-upgrade-migration", "DisableUpgradeMigration"}})
    if (o.given(flag_name))
      c[name] = o.value(flag_name) == "true";
  for (const auto& [flag_name, name] : {std::pair("max-trailing-logs", "MaxTrailingLogs"), {"min-quorum", "MinQuorum"}})
    if (o.given(flag_name))
      c[name] = o.number(flag_name);
  for (const auto& [flag_name, name] : {std::pair("last-contact-threshold", "LastContactThreshold"),
                                        {"server-stabilization-time", "ServerStabilizationTime"},
                                        {"redundancy-zone-tag", "RedundancyZoneTag"},
                                        {"upgrade-version-tag", "UpgradeVersionTag"}})
    if (o.given(flag_name))
      c[name] = o.value(flag_name);
  const auto answer = answer_of(client.ask("PUT", autopilot_path, o.write_query().add("cas", index), compact(c)), t,
                                "Error setting Autopilot configuration: ");
  if (answer.body.find("true") == std::string::npos)
    return error(t, "Configuration could not be atomically updated, please try again");
  return succeed(o, t, "Configuration updated!");
}

} // namespace

std::vector<command> autopilot_commands() {
  using enum flag_kind;
  return {
      {.name = "operator autopilot get-config",
       .help = "Show the settings of autopilot",
       .examples = {{"operator autopilot get-config", "Print one setting a line"},
                    {"operator autopilot get-config -format=json",
                     "Print them as JSON, with the index of the last change"}},
       .run = get_config},
      {.name = "operator autopilot set-config",
       .help = "Change settings of autopilot",
       .text = "Settings that are not given stay as they are. docs/operate/operations.md (section Autopilot)\n"
               "describes their effects.",
       .flags = {{"cleanup-dead-servers", text, "true|false", "remove failed servers once new ones have joined"},
                 {"disable-upgrade-migration", text, "true|false", "for Consul Enterprise"},
                 {"last-contact-threshold", duration, "<duration>",
                  "longest silence of the leader at a healthy server"},
                 {"max-trailing-logs", unsigned_number, "<entries>",
                  "maximum of log entries that a healthy server is behind"},
                 {"min-quorum", unsigned_number, "<servers>", "minimum number of servers that remain"},
                 {"redundancy-zone-tag", text, "<tag>", "for Consul Enterprise"},
                 {"server-stabilization-time", duration, "<duration>",
                  "time that a new server must be healthy before it becomes a voter"},
                 {"upgrade-version-tag", text, "<tag>", "for Consul Enterprise"}},
       .examples = {{"operator autopilot set-config -max-trailing-logs=500", "Allow a server to be 500 entries behind"},
                    {"operator autopilot set-config -last-contact-threshold=1s",
                     "Allow a server to go 1 s without hearing the leader"}},
       .run = set_config},
  };
}

} // namespace belay::cli
