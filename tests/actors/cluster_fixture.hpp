#pragma once
// A cluster for tests: the real actors of several nodes, assembled as in the program, on CAF's test
// scheduler, in virtual time. Disks and connections are in memory; the gateways are stubs.

#include "actors/node/node_composition.hpp"
#include "sim/disks/simulated_checkpoints.hpp"
#include "tests/actors/fake_network.hpp"
#include "tests/actors/memory_log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace belay::actors::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct cluster_options {
  std::size_t nodes = 3;
  std::uint64_t seed = 1;    ///< seed of elections
  std::uint64_t shuffle = 0; ///< seed of the order in which actors with mail run; 0: order of arrival
  fsm_settings machine;
  raft_peer_settings peer;
  storage::generation_limits older_checkpoint{0, std::chrono::nanoseconds(0), 0}; ///< each checkpoint is copied
  bool start = true;                                                              ///< all of them at once
  std::uint32_t expect = 0;                                                       ///< 0: all of them
  bool admit_newcomers = false;
  std::set<std::size_t> replicas; ///< nodes without a vote; also cluster_fixture::set_replica
  std::set<std::size_t> older;    ///< nodes of a version without replicas
  bool http_threads = false;      ///< other HTTP threads read the tables: cluster_fixture::shared
  std::vector<std::string> keys;  ///< initial keys of each node; empty: its peers present no credentials

  cluster_options() {
    peer.limits.election_ticks = 10; // 250 ms
    peer.autopilot.server_stabilization_ns = 0;
    peer.autopilot.cleanup_dead_servers = false;
  }
};

/// A request of a client at one node.
struct call {
  std::size_t node = 0;
  int life = 0;
  request_id id;
  auto operator<=>(const call&) const = default;
};

/// What the client got; more than one response is an error.
struct call_answers {
  std::vector<write_result> writes;
  std::vector<renew_result> renewals;
  std::vector<read_result> reads;
  monotonic_time at{}; ///< time of the last result
};

class cluster_fixture {
public:
  explicit cluster_fixture(cluster_options options = {});
  ~cluster_fixture();

  // ---- time
  /// Runs until no actor has anything to do at the present time.
  void settle();
  void pass(milliseconds d);
  /// Advances time until `what` holds, checked after every message. @returns false after `limit`
  bool until(const std::function<bool()>& what, milliseconds limit = seconds(30));
  monotonic_time now();

  // ---- nodes
  void start(std::size_t node);
  /// Destroys its actors at once.
  /// @param silent other nodes are not notified (a power failure)
  void crash(std::size_t node, bool silent = false);
  /// Takes effect at its next start.
  void set_replica(std::size_t node, bool replica);
  void set_older(std::size_t node, bool older);
  /// The feature level that it reports.
  void set_level(std::size_t node, state::feature_level level) { nodes_[node].level = level; }
  /// Loses its disk: it will start as another server at the same address.
  void wipe(std::size_t node);
  /// Whether it met something fatal. Its other actors still exist; crash() ends them.
  bool gave_up(std::size_t node) const { return nodes_[node].gave_up; }
  /// From now on the node's wall clock is ahead by this much.
  void set_wall(std::size_t node, milliseconds ahead) { nodes_[node].wall_ahead = ahead; }
  const raft::member& member(std::size_t node) const { return nodes_[node].self; }
  /// It will start with that name, at that address.
  void move(std::size_t node, const std::string& name, const std::string& address);
  bool alive(std::size_t node) const { return nodes_[node].composition != nullptr; }
  /// The last view that its gateway received.
  const cluster_view& view(std::size_t node) const { return nodes_[node].view; }
  bool serving(std::size_t node) const { return alive(node) && view(node).serving; }
  /// Waits for a leader that serves and that all `among` (empty: all live nodes) know.
  std::size_t leader(std::vector<std::size_t> among = {});
  std::vector<std::size_t> all_but(std::size_t node) const;
  node_id id_of(std::size_t node) const { return nodes_[node].self.id; }
  /// The cluster in the identity on the node's disk.
  std::uint64_t cluster_id(std::size_t node) const { return nodes_[node].cluster_id; }
  /// The next `times` writes of its identity fail.
  void fail_identity(std::size_t node, int times) { nodes_[node].identity_saves_fail = times; }
  memory_log& log(std::size_t node) { return *nodes_[node].log; }
  sim::simulated_checkpoints& checkpoints(std::size_t node) { return *nodes_[node].checkpoints; }
  std::uint64_t applied(std::size_t node) const { return nodes_[node].numbers->applied_index.load(); }
  /// Waits until all live nodes have applied the same entries and nothing more happens.
  /// @returns whether their digests are equal
  bool converged();
  std::uint64_t digest(std::size_t node) const { return nodes_[node].numbers->digest.load(); }
  /// The keys by which the node authenticates itself, as an operator has left them.
  std::vector<std::string>& keys(std::size_t node) { return nodes_[node].keys; }
  std::string metrics_text(std::size_t node) const { return nodes_[node].counted->prometheus("consul"); }
  fake_network& net() { return net_; }
  raft_peer_actor peer(std::size_t node) { return handles(node).raft_peer; }
  fsm_actor fsm(std::size_t node) { return handles(node).fsm; }
  /// What other HTTP threads read there. @pre cluster_options::http_threads
  shared_tables& shared(std::size_t node) { return *nodes_[node].shared; }
  health_checks_actor agent(std::size_t node) { return handles(node).health_checks; }

  // ---- clients; responses are collected
  call write(std::size_t node, const state::command& c);
  /// An acquire that waits for the end of a lock delay with this remaining time.
  call write_later(std::size_t node, const state::command& c, milliseconds left);
  /// An operator's request to the leader.
  call operate(std::size_t node, const forward::operator_call& what);
  call add_peer(std::size_t node, const std::string& address) { return operate(node, forward::add_member{address}); }
  /// Advances the node's clock by the length of a suspension; nothing else happens.
  void suspended(std::size_t node, milliseconds d) { nodes_[node].suspended += d; }
  /// An operator's request about the keys of all members.
  call operate_keys(std::size_t node, forward::keyring_operation what);
  /// A client sets the coordinate of a node.
  call put_coordinate(std::size_t node, coordinates::row r);
  call put(std::size_t node, const std::string& key, const std::string& value);
  call renew(std::size_t node, const std::string& session);
  /// @param min_index 0: not blocking
  call read(std::size_t node, const state::query& q, http::consistency mode, std::uint64_t min_index = 0,
            milliseconds wait = seconds(60));
  /// Waits for a claim as a gateway does.
  call await_claim(std::size_t node, state::claim_status what, log_index requested_at, milliseconds wait);
  call get(std::size_t node, const std::string& key, http::consistency mode = http::consistency::normal) {
    return read(node, state::kv_get{key}, mode);
  }
  void cancel(const call& c);

  const call_answers& answers(const call& c) { return answers_[c]; }
  bool answered(const call& c);
  /// Waits for the one response to a write.
  write_result written(const call& c);
  /// Waits for the one response to a read.
  read_result found(const call& c);
  /// Writes and waits; the write must be done.
  log_index put_done(std::size_t node, const std::string& key, const std::string& value);
  /// Creates a session and waits. @returns its id
  std::string session(std::size_t node, seconds ttl, milliseconds lock_delay = {});
  /// The result of a stale read of that key, there and now; "(none)": no such key.
  std::string stale(std::size_t node, const std::string& key);

private:
  struct system_config : caf::actor_system_config {
    system_config() { set("scheduler.policy", caf::atom("testing")); }
  };
  struct node {
    raft::member self;
    std::uint64_t cluster_id = 0;
    raft::promise promised;
    std::shared_ptr<memory_log> log = std::make_shared<memory_log>();
    std::shared_ptr<sim::simulated_checkpoints> checkpoints = std::make_shared<sim::simulated_checkpoints>();
    std::shared_ptr<metrics> counted = std::make_shared<metrics>();
    std::shared_ptr<vitals> numbers = std::make_shared<vitals>();
    std::shared_ptr<shared_tables> shared;         ///< tables of its present process
    std::unique_ptr<node_composition> composition; ///< null: not running
    cluster_view view;
    int life = 0;
    bool gave_up = false;
    int identity_saves_fail = 0;
    std::vector<std::string> keys;
    state::feature_level level = state::own_level;
    milliseconds suspended{0};
    milliseconds wall_ahead{0};
    std::uint64_t requests = 0;
  };

  class suspended_clock;

  bool step();
  http_gateway_actor spawn_gateway(std::size_t index);
  peer_link_actor spawn_links(std::size_t index, const node_actors_ptr& node_actors);
  const node_actors& handles(std::size_t node) { return nodes_[node].composition->handles(); }
  cluster_time wall_clock(std::size_t node);
  call next_call(std::size_t index);

  cluster_options options_;
  system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  seeded_random order_;
  fake_network net_;
  std::vector<node> nodes_;
  std::map<call, call_answers> answers_;
  std::uint64_t servers_made_ = 0;
  std::uint64_t sessions_ = 0;
};

// ---- results

/// The value of a key that was read; "(none)": no such key, "(failed: text)": refused.
std::string value_of(const read_result& r);
std::uint64_t index_of(const read_result& r);
inline bool failed(const read_result& r) {
  return std::holds_alternative<failure>(r.answer);
}
state::command set_key(const std::string& key, const std::string& value);
state::command remove_tree(const std::string& prefix);
/// How many entries of that log have exactly this command.
std::size_t times_in_log(const memory_log& log, const state::command& c);

} // namespace belay::actors::testing
