// `belay maint`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/array.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

constexpr std::string_view node_check = "_node_maintenance", service_check = "_service_maintenance:";

int list_maintenance(const options& o, terminal t) {
  const auto client = o.client(t);
  const auto self = value_of(client.get_json("/v1/agent/self", {}), t, "Error querying Consul agent: ");
  const auto* config = member(self, "Config");
  const auto node = config ? member_text(*config, "NodeName") : std::string();
  const auto checks = value_of(client.get_json("/v1/agent/checks", {}), t, "Error getting checks: ");
  json::array found;
  std::string out;
  if (checks.is_object())
    for (const auto& one : checks.get_object()) {
      const auto id = member_text(one.value(), "CheckID"), reason = member_text(one.value(), "Notes");
      if (id == node_check) {
        out += "Node:\n  Name:   " + node + "\n  Reason: " + reason + "\n\n";
        found.push_back(json::object{{"Node", node}, {"Reason", reason}});
      } else if (id.starts_with(service_check)) {
        const auto service = id.substr(service_check.size());
        out += "Service:\n  ID:     " + service + "\n  Reason: " + reason + "\n\n";
        found.push_back(json::object{{"Service", service}, {"Reason", reason}});
      }
    }
  t.out << (o.json() ? pretty(found) : out);
  return 0;
}

int maintenance(const options& o, terminal t) {
  const bool enable = o.on("enable"), disable = o.on("disable");
  const auto service = o.value("service"), reason = o.value("reason");
  if (enable && disable)
    return error(t, "Only one of -enable or -disable may be provided");
  if (!enable && !reason.empty())
    return error(t, "Reason may only be provided with -enable");
  if (!enable && !disable)
    return service.empty() ? list_maintenance(o, t) : error(t, "Service requires either -enable or -disable");
  api_query query;
  query.add("enable", enable ? "true" : "false");
  if (enable)
    query.add("reason", reason);
  const std::string verb = enable ? "enabl" : "disabl";
  const std::string what = service.empty() ? "node" : "service";
  json::object facts{{"Maintenance", enable}};
  if (!service.empty())
    facts.emplace("Service", service);
  return show_outcome(o, t,
                      service.empty() ? "/v1/agent/maintenance"
                                      : "/v1/agent/service/maintenance/" + go_compat::escape_path(service),
                      query, "Error " + verb + "ing " + what + " maintenance: ",
                      service.empty() ? "Node maintenance is now " + verb + "ed"
                                      : "Service maintenance is now " + verb + "ed for \"" + service + "\"",
                      std::move(facts));
}

} // namespace

std::vector<command> maintenance_commands() {
  using enum flag_kind;
  return {{.name = "maint",
           .help = "Start or end maintenance of a node or service",
           .text = "Adds a critical check, so that discovery does not return the node or service. The check survives\n"
                   "restarts. Without -enable and -disable, lists what is in maintenance.",
           .asks = reach::agent,
           .flags = {{"disable", toggle, "", "end maintenance"},
                     {"enable", toggle, "", "start maintenance"},
                     {"reason", text, "<text>", "with -enable: reason, for humans"},
                     {"service", text, "<id>", "ID of a service of the node, instead of the node"}},
           .examples = {{"maint -enable -reason='new disk'", "Start maintenance of the node"},
                        {"maint -service=web -disable", "End maintenance of its service web"}},
           .run = maintenance}};
}

} // namespace belay::cli
