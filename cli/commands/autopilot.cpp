// `belay operator autopilot get-config|set-config`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/golang/quoting.hpp"

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
  out += "RedundancyZoneTag = " + golang::quoted(member_text(c, "RedundancyZoneTag")) + "\n";
  out += "DisableUpgradeMigration = " + member_text(c, "DisableUpgradeMigration") + "\n";
  return out + "UpgradeVersionTag = " + golang::quoted(member_text(c, "UpgradeVersionTag")) + "\n";
}

int get_config(const options& o, terminal t) {
  return show(o, t, autopilot_path, o.query(), "Error querying Autopilot configuration: ", autopilot_text);
}

int set_config(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto now = client.get_json(autopilot_path, o.query());
  if (!now || !now->is_object())
    return error(t, "Error querying Autopilot configuration: " + (now ? "it is no object" : now.error()));
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
       .help = "Shows the settings of autopilot",
       .examples = {{"operator autopilot get-config", "One setting in each line"},
                    {"operator autopilot get-config -format=json", "With the index of the last change"}},
       .run = get_config},
      {.name = "operator autopilot set-config",
       .help = "Changes settings of autopilot",
       .text =
           "What is not given stays as it is. docs/reference/http-extensions.md says which settings have an effect.",
       .flags = {{"cleanup-dead-servers", text, "true|false", "remove servers that are lost when new ones are there"},
                 {"disable-upgrade-migration", text, "true|false", "for Consul Enterprise"},
                 {"last-contact-threshold", duration, "<duration>",
                  "how long a healthy server may not have heard the leader"},
                 {"max-trailing-logs", unsigned_number, "<entries>", "how many log entries it may be behind"},
                 {"min-quorum", unsigned_number, "<servers>", "how many servers are left at least"},
                 {"redundancy-zone-tag", text, "<tag>", "for Consul Enterprise"},
                 {"server-stabilization-time", duration, "<duration>",
                  "how long a new server is healthy before it votes"},
                 {"upgrade-version-tag", text, "<tag>", "for Consul Enterprise"}},
       .examples = {{"operator autopilot set-config -max-trailing-logs=500", "A server may be 500 entries behind"},
                    {"operator autopilot set-config -last-contact-threshold=1s",
                     "And 1 s without a word of the leader"}},
       .run = set_config},
  };
}

} // namespace belay::cli
