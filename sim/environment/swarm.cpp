#include "sim/environment/swarm.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Each option has a stream of its own, so that removing one leaves the others as they are.
class options {
public:
  explicit options(tape& choices) : tape_(choices) {}

  bool one_in_three() { return tape_.choose_rarely(next(), 2, 333'333) != 0; }
  bool one_in(std::uint32_t n) { return tape_.choose_rarely(next(), 2, 1'000'000 / n) != 0; }
  /// The first is the least eventful.
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[tape_.choose(next(), values.size())];
  }

private:
  stream next() { return {stream_kind::swarm, number_++}; }

  tape& tape_;
  std::uint16_t number_ = 0;
};

void draw_faults(options& o, swarm& s) {
  auto& f = s.faults;
  f.kill = o.one_in_three();
  f.power = o.one_in_three();
  f.blackout = o.one_in(6);
  f.pause = o.one_in_three();
  f.partition = o.one_in_three();
  f.one_way = o.one_in(4);
  f.reset = o.one_in(4);
  f.isolate_leader = o.one_in_three();
  f.disk_full = o.one_in(4);
  f.disk_stall = o.one_in(4);
  f.disk_error = o.one_in(6);
  f.bit_flip = o.one_in(6);
  f.disk_loss = o.one_in(5);
  f.membership = o.one_in(4);
  f.transfer = o.one_in(4);
  f.reconfigure = o.one_in(5);
  f.targeted_at_leader = o.one_in(4);
  if (f.reconfigure) // a small set of members may need a disk; if that were lost, no server could continue
    f.bit_flip = f.disk_loss = false;
  f.clock_rate = o.one_in_three();
  f.clock_wild = o.one_in(12);
  f.clock_jump = o.one_in(5);
  f.slow_actors = o.one_in(4);
  s.network.lost_per_million = o.one_in_three() ? o.one_of({10'000u, 50'000u, 200'000u}) : 0;
  s.network.duplicated_per_million = o.one_in(4) ? o.one_of({10'000u, 50'000u}) : 0;
  s.network.reordered_per_million = o.one_in(4) ? o.one_of({10'000u, 100'000u}) : 0;
  s.network.delayed_per_million = o.one_in_three() ? o.one_of({1'000u, 20'000u}) : 0;
  s.shuffle_per_million = o.one_in(2) ? o.one_of({20'000u, 300'000u}) : 0;
  s.slow_per_million = f.slow_actors ? o.one_of({300u, 3'000u}) : 0;
}

void draw_limits(options& o, swarm& s) {
  auto& l = s.peer.limits;
  l.election_ticks = o.one_of({22, 10, 10, 13});
  l.append_bytes_max = o.one_of({1u << 20, 2'000u, 300u});
  l.append_entries_max = o.one_of({4096u, 8u, 1u});
  l.inflight_appends_max = o.one_of({16u, 2u, 1u});
  l.append_gap = {}; // `reference` has none; the other profiles draw theirs in draw_swarm
  l.snapshot_chunk_bytes = o.one_of({64u << 10, 4096u, 700u});
  l.snapshot_chunks_inflight = o.one_of({4u, 1u});
  l.uncommitted_bytes_max = o.one_of({64u << 20, 4'000u});
  l.catch_up_bytes_max = o.one_of({256u << 20, 20'000u});
  s.peer.trailing_entries = o.one_of({std::uint64_t{10240}, std::uint64_t{20}, std::uint64_t{0}});
  s.peer.queue_timeout = o.one_of({milliseconds(7000), milliseconds(1500)});
  s.machine.checkpoints.entries = o.one_of({std::uint64_t{16384}, std::uint64_t{100}, std::uint64_t{10}});
  s.machine.checkpoints.interval = o.one_of({seconds(30), seconds(3)});
  s.machine.checkpoints.log_bytes = 256u << 10; // as small as the states here
  s.machine.checkpoints.log_bytes_per_interval = 16u << 10;
  s.machine.tombstone_ttl = o.one_of({milliseconds(900'000), milliseconds(6'000), milliseconds(1'000)});
  s.machine.tombstone_bin = milliseconds(2'000);
  s.segment_bytes = o.one_of({std::size_t{65536}, std::size_t{8192}});
}

/// Keys removed together are torn down at once or much later; lists are read at once or by row.
void draw_slices(tape& choices, swarm& s) {
  constexpr std::size_t at_once[] = {4096, 4096, 0};
  s.machine.torn_down_at_once = at_once[choices.choose({stream_kind::swarm, 1210}, std::size(at_once))];
  s.machine.torn_down_in_a_slice = 1;
  constexpr std::size_t long_reads[] = {state::long_read::rows_min_usual, state::long_read::rows_min_usual, 1};
  s.machine.long_read_rows = long_reads[choices.choose({stream_kind::swarm, 1211}, std::size(long_reads))];
  s.machine.read_in_a_slice = 1;
}

/// How much log the older checkpoint generation needs, and whether it is sometimes needed.
void draw_older_checkpoint(tape& choices, const profile& p, swarm& s) {
  constexpr std::uint64_t log_bytes[] = {1u << 30, 0, 3'000, 20'000};
  constexpr seconds age[] = {seconds(3600), seconds(5)};
  s.older_checkpoint = {log_bytes[choices.choose({stream_kind::swarm, 1170}, std::size(log_bytes))],
                        age[choices.choose({stream_kind::swarm, 1171}, std::size(age))], 0};
  s.faults.commit_damage = p.faults && choices.chance({stream_kind::swarm, 1172}, 200'000);
}

/// Draws the settings that differ between machines.
void draw_machine(tape& choices, swarm& s) {
  s.other_threads = choices.chance({stream_kind::swarm, 1174}, 333'333);
  constexpr actors::passed_on_limits limits[] = {{}, {1'000, 1}, {300, 500}};
  s.passed_on = limits[choices.choose({stream_kind::swarm, 1175}, std::size(limits))];
}

/// Client agents need servers that all support them.
void draw_client_agents(tape& choices, const profile& p, swarm& s) {
  const auto drawn = choices.choose_rarely({stream_kind::swarm, 1114}, 3, p.client_agents_per_million);
  if (drawn == 0)
    return;
  s.client_agents = drawn;
  s.older = SIZE_MAX;
  s.agents = true;
  if (!p.faults)
    return;
  const auto one_in_three = [&](std::uint16_t number) { return choices.chance({stream_kind::swarm, number}, 333'333); };
  s.agent_faults = {one_in_three(1115), one_in_three(1116), one_in_three(1117), one_in_three(1118)};
}

/// Claims need servers that all support them. The model must know every grant of a lock, so
/// transactions of the catalog, whose outcome it may not know, are not drawn with claims.
void draw_claimers(tape& choices, const profile& p, swarm& s) {
  constexpr std::size_t how_many[] = {4, 3, 6, 8};
  if (!choices.chance({stream_kind::swarm, 1130}, p.claims_per_million))
    return;
  s.claimers = how_many[choices.choose({stream_kind::swarm, 1131}, std::size(how_many))];
  s.older = SIZE_MAX;
  s.catalog_transactions = false;
  s.snapshots = s.snapshots || choices.chance({stream_kind::swarm, 1132}, 300'000);
}

/// Followers need fixed permissions. Windows are small, so that some cursors are too old.
void draw_followers(tape& choices, const profile& p, swarm& s) {
  if (s.acls != acl_mode::off || !choices.chance({stream_kind::swarm, 1140}, p.followers_per_million))
    return;
  constexpr std::size_t how_many[] = {4, 2, 6};
  constexpr std::size_t bytes[] = {64u << 20, 8'000, 64'000};
  s.followers = how_many[choices.choose({stream_kind::swarm, 1141}, std::size(how_many))];
  s.machine.changes_bytes_max = bytes[choices.choose({stream_kind::swarm, 1142}, std::size(bytes))];
  s.snapshots = s.snapshots || choices.chance({stream_kind::swarm, 1143}, 300'000);
}

/// Idempotency keys need servers that all support them.
void draw_repeaters(tape& choices, const profile& p, swarm& s) {
  constexpr std::size_t how_many[] = {3, 2, 5};
  if (!choices.chance({stream_kind::swarm, 1150}, p.keys_per_million))
    return;
  s.repeaters = how_many[choices.choose({stream_kind::swarm, 1151}, std::size(how_many))];
  s.older = SIZE_MAX;
  s.snapshots = s.snapshots || choices.chance({stream_kind::swarm, 1152}, 200'000);
}

/// The library needs servers that all support claims, and no catalog transactions (draw_claimers).
void draw_library(tape& choices, const profile& p, swarm& s) {
  constexpr std::size_t how_many[] = {4, 3, 6};
  if (s.acls != acl_mode::off || !choices.chance({stream_kind::swarm, 1180}, p.library_per_million))
    return;
  s.library = how_many[choices.choose({stream_kind::swarm, 1181}, std::size(how_many))];
  s.library_faults = p.faults;
  s.older = SIZE_MAX;
  s.catalog_transactions = false;
}

/// Outcomes and ends of claims are kept for 10 min, tombstones for 15 min of one leadership.
void draw_rest(tape& choices, const profile& p, swarm& s) {
  if (!p.rests)
    return;
  constexpr seconds begins[] = {seconds(45), seconds(60), seconds(20)};
  const bool long_one = choices.choose({stream_kind::swarm, 1201}, 2) == 1;
  s.rest_from = begins[choices.choose({stream_kind::swarm, 1200}, std::size(begins))];
  s.rest_until = s.rest_from + (long_one ? seconds(1'000) : seconds(640));
  if (long_one)
    s.machine.tombstone_ttl = actors::fsm_settings().tombstone_ttl;
}

/// Removes everything that interferes with the tour. Checkpoints have each entry soon, or never.
void make_restarts(tape& choices, swarm& s) {
  constexpr acl_mode modes[] = {acl_mode::default_deny, acl_mode::off, acl_mode::default_allow};
  constexpr std::uint64_t trailing[] = {0, 20};
  s.clients = s.watchers = s.lockers = s.claimers = s.followers = s.repeaters = s.library = 0;
  s.spares = s.replicas = s.client_agents = 0;
  s.beginning = beginning::as_expected;
  s.older = SIZE_MAX;
  s.credentials = credential_plan::none;
  s.agents = s.catalog_transactions = false;
  s.snapshots = true;
  s.acls = modes[choices.choose({stream_kind::swarm, 1190}, std::size(modes))];
  s.log_alone = choices.chance({stream_kind::swarm, 1191}, 250'000);
  s.machine.checkpoints.entries = s.log_alone ? UINT64_MAX : 1;
  s.machine.checkpoints.log_bytes = SIZE_MAX;
  s.machine.checkpoints.interval = s.log_alone ? std::chrono::hours(24) : seconds(3);
  s.machine.tombstone_ttl = milliseconds(1'000);
  s.machine.tombstone_bin = milliseconds(500);
  s.peer.trailing_entries = trailing[choices.choose({stream_kind::swarm, 1192}, std::size(trailing))];
  s.peer.queued_calls_max = forward::queued_calls::count_max;
  s.peer.queue_timeout = milliseconds(7'000);
}

} // namespace

/// Draws the settings of a run. The order of the draws matters up to the marked line; later ones
/// have streams of their own, so new settings do not change the rest of a run.
swarm draw_swarm(tape& choices, const profile& p) {
  options o(choices);
  swarm s;
  s.peer.autopilot.cleanup_dead_servers = false;
  s.peer.autopilot.server_stabilization_ns = 0;
  s.nodes = p.nodes[choices.choose({stream_kind::swarm, 1000}, p.nodes.size())];
  if (p.faults)
    draw_faults(o, s);
  draw_limits(o, s);
  s.network.latency = o.one_of({microseconds(100), microseconds(100), microseconds(1'000), microseconds(8'000)});
  s.disk_latency = o.one_of({microseconds(80), microseconds(80), microseconds(1'000), microseconds(10'000)});
  s.slow_disk = o.one_of({SIZE_MAX, SIZE_MAX, std::size_t{0}, std::size_t{1}});
  s.network.redial = o.one_of({milliseconds(30), milliseconds(5)});
  s.nemesis_interval = o.one_of({milliseconds(1500), milliseconds(700), milliseconds(300)});
  s.spares = s.faults.membership || s.faults.reconfigure ? o.one_of({std::size_t{1}, std::size_t{2}}) : 0;
  s.clients = o.one_of({std::size_t{4}, std::size_t{2}, std::size_t{6}});
  s.watchers = o.one_of({std::size_t{3}, std::size_t{1}, std::size_t{5}});
  s.keys = o.one_of({std::size_t{4}, std::size_t{2}, std::size_t{8}});
  s.value_bytes = o.one_of({std::size_t{16}, std::size_t{200}, std::size_t{1500}});
  // Some clients hardly pause: most harm that a stale leader can do happens within milliseconds.
  const auto hurry = o.one_of({1, 1, 1, 6});
  s.think_time =
      std::chrono::nanoseconds(seconds(1)) * static_cast<std::int64_t>(s.clients) / (p.operations_per_second * hurry);
  s.client_timeout = o.one_of({milliseconds(8000), milliseconds(1000), milliseconds(20'000)});
  s.lockers = o.one_of({std::size_t{0}, std::size_t{4}, std::size_t{6}});
  if (p.locks && s.lockers == 0)
    s.lockers = 4;
  s.snapshots = o.one_in(5);
  s.longest_partition = p.longest_partition;
  // The draws of b073746 end here. All later additions are drawn below, so that figures of the
  // profile `reference` stay comparable (tests/sim/run_test.cpp has a digest of it).
  s.frozen = p.frozen;
  if (s.frozen)
    return s;
  s.faults.unverified_peer = o.one_in(6) && p.faults;
  s.faults.clock_year = o.one_in(6) && p.faults;
  draw_beginning(choices, p, s);
  // These have streams of their own, so their order does not matter.
  s.agents = choices.chance({stream_kind::swarm, 1102}, 333'333);
  s.faults.suspend = p.faults && choices.chance({stream_kind::swarm, 1103}, 200'000);
  s.faults.machine_stop = p.faults && choices.chance({stream_kind::swarm, 1104}, 250'000);
  s.consistent_by_default = choices.chance({stream_kind::swarm, 1105}, 333'333);
  s.catalog_transactions = choices.chance({stream_kind::swarm, 1106}, 333'333);
  s.acls = static_cast<acl_mode>(choices.choose_rarely({stream_kind::swarm, 1107}, 3, 200'000));
  if (s.acls != acl_mode::off) {
    s.agents = false;   // test_actors tests on behalf of which token they act
    s.older = SIZE_MAX; // while it is there, ACLs are not in force
  }
  constexpr std::uint32_t with_credentials = 200'000;
  s.credentials = static_cast<credential_plan>(choices.choose_rarely({stream_kind::swarm, 1108}, 4, with_credentials));
  s.careless_operators = p.faults && choices.chance({stream_kind::swarm, 1109}, 333'333);
  if (s.credentials != credential_plan::none)
    s.older = SIZE_MAX; // it does not support keyring operations
  s.replicas = choices.choose_rarely({stream_kind::swarm, 1111}, 3, 200'000);
  if (s.replicas != 0) {
    s.older = SIZE_MAX; // it does not support replicas
    auto& a = s.peer.autopilot;
    a.cleanup_dead_servers = choices.chance({stream_kind::swarm, 1112}, 500'000);
    constexpr seconds stable_for[] = {seconds(0), seconds(2), seconds(10)};
    a.server_stabilization_ns =
        std::chrono::nanoseconds(stable_for[choices.choose({stream_kind::swarm, 1113}, std::size(stable_for))]).count();
  }
  constexpr std::chrono::nanoseconds gaps[] = {milliseconds(0), raft::limits{}.append_gap, milliseconds(30)};
  if (s.machine.checkpoints.entries == 16384)
    s.machine.checkpoints.entries = 0; // by what one saves, as without `raft_snapshot_threshold`
  s.peer.limits.append_gap = gaps[choices.choose_rarely({stream_kind::swarm, 1160}, std::size(gaps), 500'000)];
  draw_slices(choices, s);
  draw_older_checkpoint(choices, p, s);
  draw_machine(choices, s);
  draw_client_agents(choices, p, s);
  draw_claimers(choices, p, s);
  draw_followers(choices, p, s);
  draw_repeaters(choices, p, s);
  draw_library(choices, p, s);
  draw_rest(choices, p, s);
  constexpr std::size_t held_max[] = {forward::queued_calls::count_max, forward::queued_calls::count_max, 1};
  s.peer.queued_calls_max = held_max[choices.choose({stream_kind::swarm, 1100}, std::size(held_max))];
  // An agent sends all rows that the catalog lacks at once. With space for one, most would wait.
  if (s.agents)
    s.peer.queued_calls_max = std::max<std::size_t>(s.peer.queued_calls_max, 8);
  if (p.restarts)
    make_restarts(choices, s);
  if (s.client_agents != 0) // liveness reports of agents are queued like any call and must find room
    s.peer.queued_calls_max = forward::queued_calls::count_max;
  return s;
}

std::string token_header(const swarm& s) {
  return s.acls == acl_mode::off ? std::string() : std::string("X-Consul-Token: ") + master_token + "\r\n";
}

std::string describe(const swarm& s) {
  const auto& f = s.faults;
  std::string text =
      std::to_string(s.nodes) + " nodes, " + (s.replicas == 0 ? "" : std::to_string(s.replicas) + " read replicas, ") +
      (s.client_agents == 0 ? "" : std::to_string(s.client_agents) + " client agents, ") + std::to_string(s.clients) +
      " clients, " + std::to_string(s.watchers) + " watchers, " + std::to_string(s.lockers) + " lockers, " +
      (s.claimers == 0 ? "" : std::to_string(s.claimers) + " claimers, ") +
      (s.followers == 0 ? "" : std::to_string(s.followers) + " followers, ") +
      (s.repeaters == 0 ? "" : std::to_string(s.repeaters) + " repeaters, ") +
      (s.library == 0 ? "" : std::to_string(s.library) + " processes with the library, ") + std::to_string(s.keys) +
      " keys; faults:";
  const auto name = [&text](bool on, const char* what) { text += on ? std::string(" ") + what : ""; };
  name(f.kill, "kill");
  name(f.power, "power");
  name(f.blackout, "blackout");
  name(f.pause, "pause");
  name(f.partition, "partition");
  name(f.one_way, "one-way");
  name(f.reset, "reset");
  name(f.isolate_leader, "isolate-leader");
  name(f.disk_full, "disk-full");
  name(f.disk_stall, "disk-stall");
  name(f.disk_error, "disk-error");
  name(f.bit_flip, "bit-flip");
  name(f.commit_damage, "commit-damage");
  name(f.disk_loss, "disk-loss");
  name(f.membership, "membership");
  name(f.transfer, "transfer");
  name(f.reconfigure, "reconfigure");
  name(f.targeted_at_leader, "leader-hunt");
  name(f.clock_rate, "clock-rate");
  name(f.clock_wild, "clock-wild");
  name(f.clock_jump, "clock-jump");
  name(f.slow_actors, "slow-actors");
  name(f.clock_year, "clock-year");
  name(f.half_lost_disk, "half-lost-disk");
  name(f.unverified_peer, "stranger");
  name(f.suspend, "suspend");
  name(f.machine_stop, "machine-stop");
  name(s.agent_faults.kill, "agent-kill");
  name(s.agent_faults.suspend, "agent-suspend");
  name(s.agent_faults.cut, "agent-cut");
  name(s.agent_faults.loss, "agent-loss");
  name(s.network.lost_per_million > 0, "loss");
  name(s.network.duplicated_per_million > 0, "duplicates");
  name(s.network.reordered_per_million > 0, "reordering");
  name(s.network.delayed_per_million > 0, "delays");
  name(s.shuffle_per_million > 0, "shuffle");
  text += s.agents ? "; clients register services" : "";
  text += s.catalog_transactions ? "; transactions on the catalog" : "";
  text += s.other_threads ? "; other HTTP threads" : "";
  text += s.consistent_by_default ? "; default reads are consistent" : "";
  if (s.rest_from != s.rest_until)
    text += "; a rest from " + in_ms(s.rest_from) + " to " + in_ms(s.rest_until);
  text += s.log_alone ? "; no checkpoints" : "";
  text += s.snapshots ? "; clients restore snapshots" : "";
  constexpr const char* acls[] = {"", "; ACLs, default deny", "; ACLs, default allow"};
  text += acls[static_cast<std::size_t>(s.acls)];
  constexpr const char* credentials[] = {"", "; encrypt", "; certificates", "; from open to certificates"};
  text += credentials[static_cast<std::size_t>(s.credentials)];
  text += s.credentials != credential_plan::none && s.careless_operators ? ", careless operators" : "";
  text += s.older != SIZE_MAX ? "; n" + std::to_string(s.older) + " is of an older version" : "";
  constexpr const char* beginnings[] = {"", "; more servers than expected", "; from one server", "; down to one server",
                                        "; others beside it"};
  text += beginnings[static_cast<std::size_t>(s.beginning)];
  return text;
}

} // namespace belay::sim
