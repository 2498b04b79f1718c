#pragma once
// What a simulated run is like: how many nodes and clients, which faults exist in it at all, how slow wires and disks are. All of
// it is drawn before the run begins, so that most runs lack most faults ("Swarm Testing", Groce et al., 2012).

#include "actors/consensus/raft_peer.hpp"
#include "actors/gateway/requests/passed_on_requests.hpp"
#include "actors/tables/fsm.hpp"
#include "sim/world/simulated_network.hpp"
#include "storage/checkpoint/generation_schedule.hpp"

#include <chrono>
#include <string>

namespace belay::sim {

/// What the nemesis may do; each is on in about a third of the runs.
struct fault_set {
  bool kill = false;      ///< processes end, what was written stays
  bool power = false;     ///< a machine goes off, what was not synced may be gone
  bool blackout = false;  ///< all machines go off at once
  bool pause = false;     ///< processes stand still
  bool partition = false; ///< two groups that do not hear each other
  bool one_way = false;   ///< one direction is dead
  bool reset = false;     ///< connections break
  bool isolate_leader = false;
  bool disk_full = false;
  bool disk_stall = false;     ///< one write takes seconds
  bool disk_error = false;     ///< a call fails, the process ends
  bool bit_flip = false;       ///< on a stopped node's disk
  bool disk_loss = false;      ///< a new server comes back at the same address
  bool membership = false;     ///< servers join
  bool transfer = false;       ///< the leader hands over
  bool reconfigure = false;    ///< any set of servers becomes the members
  bool leader_hunt = false;    ///< who becomes the leader is killed, cut off or paused soon after
  bool clock_rate = false;     ///< within the stated bound
  bool clock_wild = false;     ///< far outside of it: default reads may be stale then
  bool clock_jump = false;     ///< monotonic clocks jump ahead, wall clocks to and fro
  bool slow_actors = false;    ///< an actor takes milliseconds for a message
  bool clock_year = false;     ///< wall clocks are a year off, some of them
  bool half_lost_disk = false; ///< a part of a disk is not mounted for a while; several disks are lost at once
  bool stranger = false;       ///< somebody sends forged frames to the peer ports
  bool suspend = false;        ///< machines are suspended; the clock since boot counts that
  bool machine_stop = false;   ///< machines stand still with all their clocks
  bool commit_damage = false;  ///< a bit of a checkpoint changes after its commit, before it is read back

  bool operator==(const fault_set&) const = default;
};

/// What may happen to client agents, where there are some; each is on in a third of those runs.
struct agent_fault_set {
  bool kill = false;    ///< processes end, or machines go off
  bool suspend = false; ///< hosts are suspended, or only the process stands still
  bool cut = false;     ///< one server, or none of them, is heard
  bool loss = false;    ///< of data directories: another node ID under the same name
};

/// Whether requests are judged by tokens.
enum class acl_mode : std::uint8_t {
  off,
  default_deny,  ///< what no rule is about is forbidden
  default_allow, ///< it is allowed
};

/// acl.tokens.master of all servers.
inline constexpr auto master_token = "the-master-token";

/// What servers prove to each other with, and what operators do to it meanwhile (docs/security.md).
enum class credential_plan : std::uint8_t {
  none,         ///< nothing is proved
  keys,         ///< `encrypt`; another key now and then, through /v1/operator/keyring
  certificates, ///< another authority now and then
  all_kinds,    ///< from open to `encrypt` to certificates, and on
};

/// How the cluster comes to be, and what others may become of it.
enum class beginning : std::uint8_t {
  as_expected,        ///< so many servers as bootstrap_expect says; others have none and are taken in
  more_than_expected, ///< four or five with bootstrap_expect 3, disturbed while they find each other
  from_one,           ///< bootstrap_expect 1, the others are taken in
  down_to_one,        ///< a change of members may leave one voter
  beside_others,      ///< three more servers with bootstrap_expect 3 come when the cluster is there
};

struct swarm {
  std::size_t nodes = 3;
  std::size_t spares = 0;        ///< may join later
  std::size_t replicas = 0;      ///< servers without a vote, numbered behind the spares
  std::size_t client_agents = 0; ///< numbered behind all servers
  sim::beginning beginning = sim::beginning::as_expected;
  std::size_t older = SIZE_MAX; ///< a server of a version before feature levels; none
  bool frozen = false;          ///< profile::frozen
  fault_set faults;
  agent_fault_set agent_faults;
  network_faults network;
  std::uint32_t shuffle_per_million = 0;
  std::uint32_t slow_per_million = 0;
  virtual_time disk_latency{std::chrono::microseconds(80)};
  std::size_t slow_disk = SIZE_MAX; ///< the node whose log takes 8 times as long to write; none
  std::chrono::milliseconds nemesis_interval{500};
  virtual_time longest_partition{0};
  actors::raft_peer_settings peer;
  actors::fsm_settings machine;
  storage::generation_limits older_checkpoint;
  bool other_threads = false; ///< requests arrive at HTTP threads that share the tables with the state machine's
  actors::passed_on_limits passed_on; ///< of client agents: small ones hold answers back
  std::size_t segment_bytes = 16384;
  std::size_t clients = 4, watchers = 3, lockers = 0;
  std::size_t claimers = 0;  ///< clients that use claims, queues of locks, and guards
  std::size_t followers = 0; ///< clients that follow changes of keys as streams
  std::size_t repeaters = 0; ///< clients that write with idempotency keys
  bool log_alone = false;    ///< with profile::restarts: no checkpoint is made, a restart applies the whole log
  std::size_t library = 0;   ///< processes that are written with the client library
  bool library_faults = false;
  std::size_t keys = 4;
  bool agents = false;               ///< clients register services and checks with the nodes' agents
  bool catalog_transactions = false; ///< some transactions write nodes, services and checks
  acl_mode acls = acl_mode::off;
  credential_plan credentials = credential_plan::none;
  bool careless_operators = false; ///< who do the wrong thing to one server's credentials now and then
  bool snapshots = false;          ///< clients save archives and restore them now and then
  std::size_t value_bytes = 16;
  virtual_time think_time{std::chrono::milliseconds(100)}; ///< of a client, on average
  virtual_time rest_from{0}, rest_until{0}; ///< without new faults, and with few requests; equal: there is no such time
  std::chrono::milliseconds patience{8000}; ///< after which a client gives up on an answer
  bool consistent_by_default = false;       ///< default_consistency: reads in default mode ask a majority

  bool rests_at(virtual_time t) const { return rest_from <= t && t < rest_until; }
  /// Between two requests of a client that usually pauses so long.
  virtual_time pause_at(virtual_time t, virtual_time usual) const {
    constexpr std::int64_t longer_at_rest = 25;
    return rests_at(t) ? usual * longer_at_rest : usual;
  }
  /// Nothing goes wrong: no fault is drawn, and wires and actors take what they usually take.
  bool is_quiet() const {
    return faults == fault_set{} && network.lost_per_million + network.duplicated_per_million +
                                            network.reordered_per_million + network.delayed_per_million +
                                            slow_per_million ==
                                        0;
  }
  /// Default reads can be trusted: all clocks keep to the stated bound, but for machines that stood still (standing_clocks).
  bool lease_is_safe() const { return !faults.clock_wild; }
};

/// Of a request whose sender may do everything; empty: ACLs are off.
std::string token_header(const swarm& s);

swarm draw_swarm(tape& choices, const profile& p);
/// Of it: which servers there are, and what they know of each other (swarm_beginnings.cpp).
void draw_beginning(tape& choices, const profile& p, swarm& s);
/// It is to have no vote.
inline bool is_replica(const swarm& s, std::size_t node) {
  return node >= s.nodes + s.spares && node < s.nodes + s.spares + s.replicas;
}
/// What that server is started with.
std::uint32_t bootstrap_expect_of(const swarm& s, std::size_t node);
/// One line for the trace.
std::string describe(const swarm& s);

} // namespace belay::sim
