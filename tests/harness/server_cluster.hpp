#pragma once
// One or three servers that make up a cluster of their own, and read replicas and client agents beside them.

#include "tests/harness/peer_relays.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/harness/server_node.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace belay::harness {

struct cluster_options {
  std::size_t nodes = 3;      ///< that vote
  std::string name = "node";  ///< of the first node; the others get -2 and -3
  boost::json::object config; ///< for every node
  std::size_t replicas = 0;   ///< nodes without a vote, behind those that have one
  std::size_t agents = 0;     ///< nodes that are no servers; each knows all servers
  bool relayed = false;       ///< servers reach each other through relays: server_cluster::links()
};

/// Repeats `holds` until it is true. @returns false if it was not within `limit`
bool eventually(milliseconds limit, const std::function<bool()>& holds);

/// State of one node as `/v1/agent/self` tells it; members are empty where the server does not say.
struct node_state {
  std::optional<std::uint64_t> applied_index;
  std::string state_digest;
};

class server_cluster {
public:
  /// Configures the nodes; starts nothing.
  server_cluster(const server_command& command, cluster_options options);
  virtual ~server_cluster();
  server_cluster(const server_cluster&) = delete;
  server_cluster& operator=(const server_cluster&) = delete;

  void start_all();
  void stop_all();

  /// Of the servers.
  std::size_t size() const { return options_.nodes + options_.replicas; }
  server_node& agent(std::size_t i) { return *nodes_[size() + i]; }
  /// Waits until the catalog says of all running client agents, as each of them hears it, that they are alive.
  /// @throws as wait_leader
  void wait_agents(milliseconds limit = milliseconds{30000});
  /// The nodes without a vote are those from here on.
  std::size_t voters() const { return options_.nodes; }
  server_node& node(std::size_t i) { return *nodes_[i]; }
  const server_command& command() const { return command_; }
  /// @pre the servers are relayed
  peer_relays& links() { return *relays_; }

  /// The node that the running, unpaused node `asked` names as leader; nullopt if it names none that we know.
  std::optional<std::size_t> leader_according_to(std::size_t asked);
  /// Waits until all running, unpaused nodes name the same running, unpaused leader, and it answers a consistent read.
  /// @throws std::runtime_error with the ends of the nodes' logs if that does not happen within `limit`
  std::size_t wait_leader(milliseconds limit = milliseconds{30000});
  /// Waits until every running node has a leader and answers a default read, and all know all peers.
  /// @throws as wait_leader
  void wait_ready(milliseconds limit = milliseconds{60000});
  /// Waits until the catalog has that node and says that it is alive, without which no session can be made there.
  /// @throws as wait_leader
  void wait_registered(std::size_t i);
  /// Waits until all nodes have applied the same index and, where the servers tell digests, have equal ones.
  /// @returns empty, or what was different at the end of `limit`
  std::string wait_equal(milliseconds limit = milliseconds{30000});
  node_state state_of(std::size_t i);

  /// Writes every node's configuration file again, with `more` merged over the options.
  void configure(const boost::json::object& more = {});
  /// That node's alone, with `more` merged over what it has by the options.
  void configure_one(std::size_t i, const boost::json::object& more);
  /// The ends of all logs, for messages.
  std::string logs();

private:
  boost::json::object config_of(std::size_t i) const;
  /// At which other servers reach that one.
  std::string peer_address(std::size_t i) const;
  /// Whether the node `asked` says that the catalog has `node` alive.
  bool is_passing(std::size_t asked, const std::string& node);

  server_command command_;
  cluster_options options_;
  scratch_folder folder_;
  std::vector<std::unique_ptr<server_node>> nodes_;
  std::unique_ptr<peer_relays> relays_;
};

} // namespace belay::harness
