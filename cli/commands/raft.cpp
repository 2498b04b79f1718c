// `belay operator raft add-peer|list-peers|remove-peer`.

#include "cli/commands/all.hpp"
#include "cli/commands/outcome.hpp"
#include "cli/output/json_text.hpp"
#include "cli/output/table.hpp"

#include <ostream>

namespace belay::cli {

namespace json = boost::json;

namespace {

int raft_add_peer(const options& o, terminal t) {
  const auto address = o.value("address"), id = o.value("id");
  if (address.empty() && id.empty())
    return error(t, "An address or id is required for the peer to add: -address=HOST:PORT, the address that it "
                    "advertises to peers");
  if (!address.empty() && !id.empty())
    return error(t, "Error adding peer: cannot give both an address and id");
  const std::string what = id.empty() ? "address" : "id";
  const auto& value = id.empty() ? address : id;
  return show_outcome(o, t, "/v1/operator/raft/peer", o.query().add(what, value),
                      "Error adding peer: ", "Added peer with " + what + " \"" + value + "\"",
                      {{what == "id" ? "ID" : "Address", value}});
}

int raft_remove_peer(const options& o, terminal t) {
  const auto address = o.value("address"), id = o.value("id");
  if (address.empty() && id.empty())
    return error(t, "Error removing peer: an address or id is required for the peer to remove");
  if (!address.empty() && !id.empty())
    return error(t, "Error removing peer: cannot give both an address and id");
  const auto client = o.client(t);
  const std::string what = id.empty() ? "address" : "id";
  const auto& value = id.empty() ? address : id;
  answer_of(client.ask("DELETE", "/v1/operator/raft/peer", o.query().add(what, value)), t, "Error removing peer: ");
  return succeed(o, t, "Removed peer with " + what + " \"" + value + "\"", {{what == "id" ? "ID" : "Address", value}});
}

std::string peers_text(const options&, const json::value& config) {
  std::vector<std::vector<std::string>> rows = {{"Node", "ID", "Address", "State", "Voter", "RaftProtocol"}};
  for (const auto& s : elements(member(config, "Servers"))) {
    auto protocol = member_text(s, "ProtocolVersion");
    rows.push_back({member_text(s, "Node"), member_text(s, "ID"), member_text(s, "Address"),
                    member_is_true(s, "Leader") ? "leader" : "follower", member_text(s, "Voter"),
                    protocol.empty() ? "<=1" : protocol});
  }
  return table(rows);
}

int raft_list_peers(const options& o, terminal t) {
  return show(o, t, "/v1/operator/raft/configuration", o.query(),
              "Error getting peers: Failed to retrieve raft configuration: ", peers_text);
}

} // namespace

std::vector<command> raft_commands() {
  using enum flag_kind;
  return {
      {.name = "operator raft add-peer",
       .help = "Add a server to the cluster",
       .flags = {{"address", text, "<host:port>", "address that the server advertises to peers"},
                 {"id", text, "<id>", "node ID of a server that connects to a member itself (retry_join)"}},
       .examples = {{"operator raft add-peer -address=10.0.0.4:8300", "Let the leader connect to this address"},
                    {"operator raft add-peer -id=b31a9000-0000-4000-8000-000000000001",
                     "Admit the server with this ID, which is connected and waits"}},
       .run = raft_add_peer},
      {.name = "operator raft list-peers",
       .help = "List the servers of the cluster",
       .examples = {{"operator raft list-peers", "Print names, addresses, the leader and the voters"},
                    {"operator raft list-peers -stale", "Do it without a leader"}},
       .run = raft_list_peers},
      {.name = "operator raft remove-peer",
       .help = "Remove a server from the cluster",
       .text = "For servers that will not come back. Stop a server first: a running one may join again.",
       .flags = {{"address", text, "<host:port>", "address of the server, as in list-peers"},
                 {"id", text, "<id>", "ID of the server, as in list-peers"}},
       .examples = {{"operator raft remove-peer -address=10.0.0.4:8300", "Select by address"},
                    {"operator raft remove-peer -id=b31a9000-0000-4000-8000-000000000001", "Select by ID"}},
       .run = raft_remove_peer},
  };
}

} // namespace belay::cli
