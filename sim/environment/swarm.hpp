#pragma once
// The properties of a run: numbers of nodes and clients, possible faults, latency of networks and
// disks. All are drawn first, so most runs lack most faults ("Swarm Testing", Groce et al., 2012).

#include "actors/consensus/raft_peer.hpp"
#include "actors/gateway/requests/passed_on_requests.hpp"
#include "actors/tables/fsm.hpp"
#include "sim/environment/simulated_network.hpp"
#include "storage/checkpoint/generation_schedule.hpp"

#include <chrono>
#include <string>

namespace belay::sim {

/// The faults that the nemesis may inject; each is enabled in about a third of the runs.
struct fault_set {
  bool kill = false;      ///< processes end; what was written stays
  bool power = false;     ///< a machine loses power; unsynced data may be lost
  bool blackout = false;  ///< all machines lose power at once
  bool pause = false;     ///< processes are paused
  bool partition = false; ///< two groups that cannot reach each other
  bool one_way = false;   ///< one direction is cut
  bool reset = false;     ///< connections break
  bool isolate_leader = false;
  bool disk_full = false;
  bool disk_stall = false;         ///< one write takes seconds
  bool disk_error = false;         ///< a call fails, and the process ends
  bool bit_flip = false;           ///< on a stopped node's disk
  bool disk_loss = false;          ///< a new server returns at the same address
  bool membership = false;         ///< servers join
  bool transfer = false;           ///< the leader transfers its leadership
  bool reconfigure = false;        ///< any set of servers becomes the members
  bool targeted_at_leader = false; ///< a new leader is soon killed, cut off or paused
  bool clock_rate = false;         ///< within the stated bound
  bool clock_wild = false;         ///< far outside of it: default reads may be stale then
  bool clock_jump = false;         ///< monotonic clocks jump ahead, wall clocks either way
  bool slow_actors = false;        ///< an actor takes milliseconds for a message
  bool clock_year = false;         ///< some wall clocks are a year off
  bool half_lost_disk = false;     ///< a part of a disk is not mounted for a while; several disks are lost at once
  bool unverified_peer = false;    ///< an intruder sends forged frames to the peer ports
  bool suspend = false;            ///< machines are suspended; the clock since boot counts that
  bool machine_stop = false;       ///< machines stop with all their clocks
  bool commit_damage = false;      ///< a bit of a checkpoint changes between its commit and its verification

  bool operator==(const fault_set&) const = default;
};

/// The faults of client agents, if there are some; each is enabled in a third of those runs.
struct agent_fault_set {
  bool kill = false;    ///< processes end, or machines lose power
  bool suspend = false; ///< hosts are suspended, or only the process is paused
  bool cut = false;     ///< an agent can reach all servers but one, or none
  bool loss = false;    ///< data directories are lost: another node ID under the same name
};

/// Whether requests are authorized by tokens.
enum class acl_mode : std::uint8_t {
  off,
  default_deny,  ///< what no rule mentions is denied
  default_allow, ///< what no rule mentions is allowed
};

/// acl.tokens.master of all servers.
inline constexpr auto master_token = "the-master-token";

/// Servers' credentials for each other, and how operators change them meanwhile (docs/operate/security.md).
enum class credential_plan : std::uint8_t {
  none,         ///< no authentication
  keys,         ///< `encrypt`; sometimes a new key, through /v1/operator/keyring
  certificates, ///< sometimes a new authority
  all_kinds,    ///< from none to `encrypt` to certificates, and further
};

/// How the cluster forms, and what else may happen to its members.
enum class beginning : std::uint8_t {
  as_expected,        ///< as many servers as bootstrap_expect; others have none and join
  more_than_expected, ///< four or five with bootstrap_expect 3, disturbed while they find each other
  from_one,           ///< bootstrap_expect 1; the others join
  down_to_one,        ///< a change of members may leave one voter
  beside_others,      ///< three more servers with bootstrap_expect 3 start next to the existing cluster
};

struct swarm {
  std::size_t nodes = 3;
  std::size_t spares = 0;        ///< may join later
  std::size_t replicas = 0;      ///< servers without a vote, numbered after the spares
  std::size_t client_agents = 0; ///< numbered after all servers
  sim::beginning beginning = sim::beginning::as_expected;
  std::size_t older = SIZE_MAX; ///< a server of a version without feature levels; SIZE_MAX: none
  bool frozen = false;          ///< profile::frozen
  fault_set faults;
  agent_fault_set agent_faults;
  network_faults network;
  std::uint32_t shuffle_per_million = 0;
  std::uint32_t slow_per_million = 0;
  virtual_time disk_latency{std::chrono::microseconds(80)};
  std::size_t slow_disk = SIZE_MAX; ///< the node whose log takes 8 times as long to write; SIZE_MAX: none
  std::chrono::milliseconds nemesis_interval{500};
  virtual_time longest_partition{0};
  actors::raft_peer_settings peer;
  actors::fsm_settings machine;
  storage::generation_limits older_checkpoint;
  bool other_threads = false; ///< requests arrive at HTTP threads that share the tables with the state machine's
  actors::passed_on_limits passed_on; ///< limits of client agents; small ones delay responses
  std::size_t segment_bytes = 16384;
  std::size_t clients = 4, watchers = 3, lockers = 0;
  std::size_t claimers = 0;  ///< clients that use claims, queues of locks, and write guards
  std::size_t followers = 0; ///< clients that follow changes of keys as streams
  std::size_t repeaters = 0; ///< clients that write with idempotency keys
  bool log_alone = false;    ///< with profile::restarts: no checkpoint is made, a restart applies the whole log
  std::size_t library = 0;   ///< processes that use the client library
  bool library_faults = false;
  std::size_t keys = 4;
  bool agents = false;               ///< clients register services and checks with the nodes' agents
  bool catalog_transactions = false; ///< some transactions write nodes, services and checks
  acl_mode acls = acl_mode::off;
  credential_plan credentials = credential_plan::none;
  bool careless_operators = false; ///< operators sometimes make mistakes with one server's credentials
  bool snapshots = false;          ///< clients sometimes save archives and restore them
  std::size_t value_bytes = 16;
  virtual_time think_time{std::chrono::milliseconds(100)}; ///< average think time of a client
  virtual_time rest_from{0}, rest_until{0};       ///< without new faults, and with few requests; equal: there is none
  std::chrono::milliseconds client_timeout{8000}; ///< how long a client waits for a response
  bool consistent_by_default = false;             ///< default_consistency: default reads need a quorum

  bool rests_at(virtual_time t) const { return rest_from <= t && t < rest_until; }
  /// Pause between two requests of a client that usually pauses for `usual`.
  virtual_time pause_at(virtual_time t, virtual_time usual) const {
    constexpr std::int64_t longer_at_rest = 25;
    return rests_at(t) ? usual * longer_at_rest : usual;
  }
  /// Whether the run has no faults, and networks and actors take their usual time.
  bool is_quiet() const {
    return faults == fault_set{} && network.lost_per_million + network.duplicated_per_million +
                                            network.reordered_per_million + network.delayed_per_million +
                                            slow_per_million ==
                                        0;
  }
  /// Whether default reads are reliable: clocks keep their bound, except stopped ones
  /// (paused_clocks).
  bool lease_is_safe() const { return !faults.clock_wild; }
};

/// The header of a request that may do everything; empty: ACLs are off.
std::string token_header(const swarm& s);

swarm draw_swarm(tape& choices, const profile& p);
/// Draws a part of it: which servers exist and know of each other (swarm_beginnings.cpp).
void draw_beginning(tape& choices, const profile& p, swarm& s);
/// Whether it never gets a vote.
inline bool is_replica(const swarm& s, std::size_t node) {
  return node >= s.nodes + s.spares && node < s.nodes + s.spares + s.replicas;
}
/// The bootstrap_expect of that server.
std::uint32_t bootstrap_expect_of(const swarm& s, std::size_t node);
/// One line for the trace.
std::string describe(const swarm& s);

} // namespace belay::sim
