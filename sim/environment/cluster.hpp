#pragma once
// The nodes of a simulated cluster: the real actors, assembled as in the program, on simulated
// disks, clocks and networks. Servers come first, then client agents (in no configuration).

#include "actors/node/agent_composition.hpp"
#include "actors/node/disk/server_state.hpp"
#include "actors/node/node_composition.hpp"
#include "actors/request_ids.hpp"
#include "protocol/raft/invariants.hpp"
#include "protocol/state/feature_levels.hpp"
#include "sim/disks/simulated_disk.hpp"
#include "sim/environment/agent_connections.hpp"
#include "sim/environment/peer_doors.hpp"
#include "sim/environment/simulated_clock.hpp"
#include "sim/environment/simulated_gateway.hpp"
#include "sim/environment/simulated_network.hpp"
#include "sim/environment/simulated_relay_loop.hpp"
#include "sim/environment/swarm.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// A result that a node's gateway receives, for the client that sent the request.
using client_answer = std::variant<actors::write_result, actors::renew_result, actors::read_result,
                                   actors::archive_packed, actors::archive_unpacked>;

enum class node_state : std::uint8_t { down, running, paused };

/// What pauses together with a node's actors.
enum class pause_of : std::uint8_t {
  process,   ///< nothing else
  suspended, ///< the clock that does not count suspensions
  machine,   ///< all clocks: a hypervisor has stopped the machine
};

class cluster {
public:
  cluster(schedule& time, tape& choices, event_trace& trace, simulated_network& net, const swarm& s);
  ~cluster();

  /// The number of servers.
  std::size_t size() const { return nodes_.size() - swarm_.client_agents; }
  /// The number of nodes, client agents included.
  std::size_t node_count() const { return nodes_.size(); }
  bool is_agent(std::size_t node) const { return node >= size(); }

  // ---- nodes
  /// Opens the data directory as the program does. @returns an error if that fails: it stays down.
  status start(std::size_t node);
  void kill(std::size_t node);
  /// Powers off the machine: unsynced data may be lost, and a write in progress may be cut short.
  void power_off(std::size_t node);
  void pause(std::size_t node, pause_of what = pause_of::process);
  void resume(std::size_t node);
  /// Its disk is lost: it will start as another server at the same address.
  void wipe(std::size_t node);
  node_state state(std::size_t node) const { return nodes_[node].state; }
  bool running(std::size_t node) const { return nodes_[node].state == node_state::running; }
  int life(std::size_t node) const { return nodes_[node].life; }

  // ---- current state
  const raft::member& member(std::size_t node) const { return nodes_[node].self; }
  /// According to its disk; zero: it belongs to no cluster yet.
  std::uint64_t cluster_id(std::size_t node) const { return nodes_[node].cluster_id; }
  node_id id_of(std::size_t node) const { return nodes_[node].self.id; }
  const actors::cluster_view& view(std::size_t node) const { return nodes_[node].view; }
  /// The level that it sends to its peers.
  state::feature_level level_of(std::size_t node) const { return node == swarm_.older ? 0 : state::own_level; }
  bool is_replica(std::size_t node) const { return node < size() && sim::is_replica(swarm_, node); }
  bool has_older_server() const { return swarm_.older < size(); }
  bool serving(std::size_t node) const { return running(node) && view(node).serving; }
  /// Null: not running.
  const raft::core* core(std::size_t node) const;
  const state::machine* machine(std::size_t node) const;
  /// Whether ACLs wait until the leader has heard from every server (docs/operate/security.md,
  /// Tokens of clients).
  bool acls_wait_for_all() const;
  /// Whether it answers default reads without a barrier, at this moment of its clock, on any of its
  /// threads.
  bool has_lease(std::size_t node) const;
  /// Serves as the leader of the highest term; nullopt: no server does.
  std::optional<std::size_t> leader() const;
  /// The configuration in force at the server with the newest log. nullopt: a change is in
  /// progress. Others may then still need a majority of the previous configuration.
  std::optional<raft::configuration> configuration() const;
  std::optional<std::size_t> node_of(node_id id) const;

  agent_connections& connections_of_agents() { return agent_connections_; }
  const agent_connections& connections_of_agents() const { return agent_connections_; }
  /// Null: servers have no credentials.
  peer_doors* doors() { return doors_.get(); }
  const peer_doors* doors() const { return doors_.get(); }
  simulated_disk& disk(std::size_t node) { return *nodes_[node].disk; }
  const simulated_disk& disk(std::size_t node) const { return *nodes_[node].disk; }
  simulated_clock& clock(std::size_t node) { return *nodes_[node].clock; }
  const simulated_clock& clock(std::size_t node) const { return *nodes_[node].clock; }
  /// The actors' handles of a server that is not down.
  const actors::node_actors& handles(std::size_t node) const { return nodes_[node].composition->handles(); }
  request_id next_request(std::size_t node) { return nodes_[node].requests.next(); }
  /// Where its clients send requests. @pre it is not down
  simulated_gateway& gateway(std::size_t node) { return *nodes_[node].gateway; }

  // ---- callbacks
  /// A gateway received a result from another actor of its node.
  std::function<void(std::size_t node, int life, const client_answer&)> answered;
  /// A client received bytes of a response (simulated_gateway::heard).
  std::function<bool(std::size_t node, int life, connection_id c, std::string_view bytes, bool last)> received;
  /// The node has stopped and will not answer its requests. This is called even if it ended itself.
  std::function<void(std::size_t node)> gone;
  std::function<void(std::size_t node)> paused, resumed;
  std::function<void(std::size_t agent)> wiped;   ///< the disk of a client agent is empty
  std::function<void(std::size_t node)> led;      ///< it has become the leader and serves
  std::function<void(std::size_t node)> promised; ///< it has made a promise about the first configuration
  std::function<void(std::size_t node)> joined;   ///< its data directory now says that it belongs to a cluster
  /// Whether a target of checks is healthy; null: all are.
  std::function<bool(const std::string& target)> well;

  /// Call it before each message.
  void before(const enlisted& who, const caf::type_erased_tuple& message);
  /// Call it after each message: stops the nodes that have decided to end.
  void bury_the_dead();

private:
  struct node {
    raft::member self;
    std::uint64_t cluster_id = 0;
    std::unique_ptr<simulated_disk> disk;
    std::shared_ptr<simulated_clock> clock;
    std::shared_ptr<actors::metrics> counted;
    std::shared_ptr<actors::vitals> numbers;
    std::shared_ptr<actors::shared_tables> tables;         ///< null: there is one HTTP thread
    std::unique_ptr<actors::node_composition> composition; ///< null: down
    std::unique_ptr<simulated_gateway> gateway;            ///< null: down
    // For client agents: `registrations` are the files of the disk, with their bytes.
    std::unique_ptr<simulated_relay_loop> loop;
    std::unique_ptr<actors::agent_composition> agent;
    std::map<std::string, std::string> registrations;
    const actors::raft_peer* peer = nullptr;
    const actors::fsm* fsm = nullptr;
    actors::cluster_view view;
    node_state state = node_state::down;
    bool failing = false; ///< has decided to end
    bool dark = false;    ///< its power fails during the message that it handles
    bool ending = false;  ///< is being stopped
    int life = 0;
    actors::request_ids requests{0, 0};
  };

  result<actors::server_state> open_data(std::size_t index, actors::identity& who);
  void spawn(std::size_t index, const actors::identity& who, actors::server_state found);
  actors::http_gateway_actor spawn_gateway(std::size_t index, const actors::node_actors_ptr& node_actors);
  actors::peer_link_actor spawn_links(std::size_t index, const actors::node_actors_ptr& node_actors);
  actors::keyring_keeper_actor spawn_keyring(std::size_t index, const actors::node_actors_ptr& node_actors);
  void stop(std::size_t index, bool power);
  void born(node& n);
  actors::gateway_settings gateway_settings_of(std::size_t index);
  std::unique_ptr<simulated_gateway> open_gateway(std::size_t index, const actors::node_actors_ptr& node_actors,
                                                  actors::gateway_settings g);

  // In cluster_agents.cpp.
  void prepare_agents();
  status start_agent(std::size_t index);
  void spawn_agent(std::size_t index);
  actors::registration_keeper_actor spawn_keeper(std::size_t index, const actors::node_actors_ptr& node_actors);
  void end_agent(node& n);

  static constexpr auto datacenter = "dc1";
  // Interval at which an agent compares with the catalog (default: 1 min): several times in a run.
  static constexpr std::chrono::seconds compare_interval{4};
  // The first stream of probes, above those of all clients.
  static constexpr std::size_t first_probe_stream = 700;

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  simulated_network& net_;
  agent_connections agent_connections_;
  swarm swarm_;
  std::unique_ptr<peer_doors> doors_;
  std::vector<node> nodes_;
  std::uint64_t servers_made_ = 0;
};

} // namespace belay::sim
