#pragma once
// One or three servers that form a cluster, with optional read replicas and client agents.

#include "tests/harness/peer_relays.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/harness/server_node.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace belay::harness {

struct cluster_options {
  std::size_t nodes = 3;      ///< that vote
  std::string name = "node";  ///< name of the first node; the others get -2 and -3
  boost::json::object config; ///< for every node
  std::size_t replicas = 0;   ///< nodes without a vote, after those with one
  std::size_t agents = 0;     ///< nodes that are not servers; each is configured with all servers
  bool relayed = false;       ///< servers reach each other through relays: server_cluster::links()
};

/// Repeats `holds` until it is true. @returns false if it was not true within `limit`
bool eventually(milliseconds limit, const std::function<bool()>& holds);

/// State of one node from `/v1/agent/self`; absent members are empty.
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

  /// The number of servers.
  std::size_t size() const { return options_.nodes + options_.replicas; }
  server_node& agent(std::size_t i) { return *nodes_[size() + i]; }
  /// Waits until the catalog, queried through each running client agent, shows all as alive.
  /// @throws as wait_leader
  void wait_agents(milliseconds limit = milliseconds{30000});
  /// The number of voters. The nodes from that index on have no vote.
  std::size_t voters() const { return options_.nodes; }
  server_node& node(std::size_t i) { return *nodes_[i]; }
  const server_command& command() const { return command_; }
  /// @pre the servers are relayed
  peer_relays& links() { return *relays_; }

  /// The leader according to the running, unpaused node `asked`; nullopt: none, or an unknown one.
  std::optional<std::size_t> leader_according_to(std::size_t requested);
  /// Waits until all running, unpaused nodes agree on a leader that answers a consistent read.
  /// @throws std::runtime_error with the ends of the nodes' logs if that exceeds `limit`
  std::size_t wait_leader(milliseconds limit = milliseconds{30000});
  /// Waits until each running node has a leader, answers a default read, and all know all peers.
  /// @throws as wait_leader
  void wait_ready(milliseconds limit = milliseconds{60000});
  /// Waits until the catalog shows that node as alive, which sessions need.
  /// @throws as wait_leader
  void wait_registered(std::size_t i);
  /// Waits until all nodes have applied the same index and have equal digests, if they report any.
  /// @returns empty, or what was different at the end of `limit`
  std::string wait_equal(milliseconds limit = milliseconds{30000});
  node_state state_of(std::size_t i);

  /// Rewrites every node's configuration file, with `more` merged over the options.
  void configure(const boost::json::object& more = {});
  /// Only for that node, with `more` merged over its options.
  void configure_one(std::size_t i, const boost::json::object& more);
  /// The ends of all logs, for messages.
  std::string logs();

private:
  boost::json::object config_of(std::size_t i) const;
  /// The address at which other servers reach that one.
  std::string peer_address(std::size_t i) const;
  /// Whether the node `asked` reports that the catalog shows `node` as alive.
  bool is_passing(std::size_t requested, const std::string& node);

  server_command command_;
  cluster_options options_;
  scratch_folder folder_;
  std::vector<std::unique_ptr<server_node>> nodes_;
  std::unique_ptr<peer_relays> relays_;
};

} // namespace belay::harness
