// `belay join|leave|force-leave|reload`: requests that a node carries out itself.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "protocol/go_compat/url.hpp"

#include <boost/json/array.hpp>

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

int join(const options& o, terminal t) {
  if (o.words().empty())
    return o.wrong_usage(t, "At least one address to join must be specified.");
  const auto client = o.client(t);
  api_query query;
  if (o.on("wan"))
    query.add("wan", "1");
  std::size_t count = 0;
  json::array addresses;
  for (const auto& address : o.words()) {
    const auto answer = client.ask("PUT", "/v1/agent/join/" + go_compat::escape_path(address), query);
    if (const auto complaint = complaint_about(answer); !complaint.empty()) {
      error(t, "Error joining address '" + address + "': " + complaint);
      continue;
    }
    ++count;
    addresses.emplace_back(address);
  }
  if (count == 0)
    return error(t, "Failed to join any nodes.");
  return succeed(o, t, "Successfully joined cluster by contacting " + std::to_string(count) + " nodes.",
                 {{"Joined", std::move(addresses)}});
}

int leave(const options& o, terminal t) {
  if (!o.words().empty())
    return o.wrong_usage(t, "Error found unexpected args: [" + joined(o.words(), " ") + "]");
  return show_outcome(o, t, "/v1/agent/leave", {}, "Error leaving: ", "Graceful leave complete");
}

int force_leave(const options& o, terminal t) {
  if (o.words().size() != 1)
    return o.wrong_usage(t, "A single node name must be specified to force leave.");
  const auto client = o.client(t);
  api_query query;
  if (o.on("prune"))
    query.add("prune", "1");
  const auto& node = o.words()[0];
  answer_of(client.ask("PUT", "/v1/agent/force-leave/" + go_compat::escape_path(node), query), t,
            "Error force leaving: ");
  return o.json() ? succeed(o, t, "", {{"Node", node}}) : 0;
}

int reload(const options& o, terminal t) {
  return show_outcome(o, t, "/v1/agent/reload", {}, "Error reloading: ", "Configuration reload triggered");
}

} // namespace

std::vector<command> membership_commands() {
  using enum flag_kind;
  return {
      {.name = "force-leave",
       .help = "Remove a failed node",
       .operands = "NODE",
       .text = "A node that is alive joins again by itself.",
       .asks = reach::agent,
       .flags = {{"prune", toggle, "", "also remove the node from the list of members"}},
       .examples = {{"force-leave n3", "Mark the node n3 as having left"},
                    {"force-leave -prune n3", "Also remove it from the list of members"}},
       .run = force_leave},
      {.name = "join",
       .help = "Make a node join a cluster",
       .operands = "ADDRESS...",
       .asks = reach::agent,
       .flags = {{"wan", toggle, "", "accepted for compatibility with Consul: join servers of another datacenter"}},
       .examples = {{"join 10.0.0.1", "Join the cluster of that server"},
                    {"join 10.0.0.1 10.0.0.2", "Try several servers: one response is enough"}},
       .run = join},
      {.name = "leave",
       .help = "Make a node leave the cluster and shut down",
       .asks = reach::agent,
       .examples = {{"leave", "Select the node on this machine"},
                    {"leave -http-addr=10.0.0.3:8500", "Select another node"}},
       .run = leave},
      {.name = "reload",
       .help = "Make a node reload its configuration",
       .text = "Does the same as SIGHUP. The node logs the changes that need a restart.",
       .asks = reach::agent,
       .examples = {{"reload", "Select the node on this machine"},
                    {"reload -http-addr=unix:///run/belay.sock", "Select a node by its Unix socket"}},
       .run = reload},
  };
}

} // namespace belay::cli
