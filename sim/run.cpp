#include "sim/run.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/probe.hpp"
#include "sim/checkers/agents/client_agent_checker.hpp"
#include "sim/checkers/answer_times.hpp"
#include "sim/checkers/autopilot_checker.hpp"
#include "sim/checkers/claims/claims_checker.hpp"
#include "sim/checkers/claims/disconnect_checker.hpp"
#include "sim/checkers/claims/wait_checker.hpp"
#include "sim/checkers/idle_checker.hpp"
#include "sim/checkers/linearizability.hpp"
#include "sim/checkers/observer.hpp"
#include "sim/checkers/progress_checker.hpp"
#include "sim/checkers/recovery.hpp"
#include "sim/clients/agent_workload.hpp"
#include "sim/clients/cached_reader.hpp"
#include "sim/clients/change_follower.hpp"
#include "sim/clients/credential_operator.hpp"
#include "sim/clients/restart_tour.hpp"
#include "sim/clients/workload.hpp"
#include "sim/environment/busy_times.hpp"
#include "sim/environment/node_failure.hpp"
#include "sim/environment/storm_checker.hpp"
#include "sim/faults/agent_nemesis.hpp"
#include "sim/faults/nemesis.hpp"
#include "sim/faults/unauthenticated_peer.hpp"
#include "sim/faults/unverified_peer.hpp"
#include "sim/faults/version_skew.hpp"
#include "sim/kit/library_ground.hpp"

#include <algorithm>
#include <utility>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Upper bound on each step of a recovery, in virtual time. Longer than the longest election, the
// longest wait of a request for a leader, and the longest outage that may outlast the healing.
constexpr seconds recovery_max{40};
// A node that receives entry by entry over a slow link or on a slow disk may take longer.
constexpr seconds catching_up_max{400};
// The leader may need this long to notice a broken connection or a full disk.
constexpr seconds autopilot_max{10};
// How long the others write before a full disk has no space: about the time that a segment of the
// log takes. A log to which nothing new is appended for `stands_still` has no space.
constexpr seconds filling_max{3};
constexpr milliseconds stands_still{500};
// One run in this many has a black-box search for a linearization: other checkers find more for
// less.
constexpr std::uint64_t search_every = 16;
// Share of the runs that end idle, without requests. Before that, everything temporary ends: waits
// for lock delays (15 s), sessions, gossip, comparisons of agents with the catalog.
constexpr std::uint32_t idle_per_million = 125'000;
constexpr seconds idle_after{18};
constexpr seconds idle_for{15};
// Interval between checks of the requests without a response.
constexpr milliseconds times_every{100};
// Interval between checks of client agents against the leader's view of them.
constexpr milliseconds agents_every{50};
// The fastest clock within the stated bound.
constexpr double fastest_clock = 1.05;

/// Whether no server decided whether the session exists.
bool is_undecided(const operation& renewal) {
  return renewal.result == outcome::unknown ||
         (renewal.result == outcome::refused && renewal.text.find("Permission denied") == std::string::npos);
}

watch_rules watch_rules_of(const swarm& s) {
  watch_rules r;
  // A message to or from the registry may take that long.
  if (s.faults.slow_actors)
    r.slack = seconds(2);
  if (s.faults.clock_wild) // clocks may jump ahead by any amount
    r.fastest_clock = 1'000'000;
  else if (s.faults.clock_rate)
    r.fastest_clock = fastest_clock;
  return r;
}

answer_time_rules answer_time_rules_of(const swarm& s) {
  answer_time_rules r;
  r.queue_timeout = s.peer.queue_timeout;
  return r;
}

/// One run, from beginning to end.
class simulation {
public:
  simulation(tape& choices, const run_options& options)
      : tape_(choices), profile_(options.profile), trace_(options.trace), swarm_(draw_swarm(choices, options.profile)),
        time_(choices, trace_), net_(time_, choices, trace_), nodes_(time_, choices, trace_, net_, swarm_),
        busy_(time_, choices, nodes_, swarm_), clocks_(swarm_.peer.limits.tick * swarm_.peer.limits.election_ticks),
        replies_({swarm_.lease_is_safe(), swarm_.consistent_by_default, &clocks_, profile_.restarts}),
        watches_(replies_.model(), watch_rules_of(swarm_)),
        sessions_(replies_.model(), {swarm_.lease_is_safe(), swarm_.peer.queue_timeout, &clocks_,
                                     swarm_.faults.clock_rate ? fastest_clock : 1}),
        delays_(replies_.model(), {swarm_.lease_is_safe(), &clocks_}), claims_(replies_.model()),
        waits_(replies_.model(), watch_rules_of(swarm_).slack), times_(answer_time_rules_of(swarm_)), floors_(nodes_),
        watcher_(time_, trace_, nodes_, replies_, watches_, sessions_, delays_, claims_, waits_, clocks_, floors_,
                 swarm_.lease_is_safe(), swarm_.is_quiet() && !profile_.restarts),
        clients_(time_, choices, trace_, nodes_, swarm_, replies_, watches_, waits_, sessions_, times_),
        agents_(time_, choices, trace_, nodes_, swarm_, times_),
        cached_(time_, choices, trace_, nodes_, swarm_, watch_rules_of(swarm_).slack),
        followers_(time_, choices, trace_, nodes_, replies_.model(), floors_, swarm_.followers,
                   swarm_.faults.clock_wild),
        tour_(time_, choices, trace_, nodes_, swarm_),
        library_(time_, choices, trace_, nodes_, swarm_, replies_, sessions_, profile_.chaos),
        nemesis_(time_, choices, trace_, nodes_, net_, swarm_), agent_nemesis_(time_, choices, trace_, nodes_, swarm_),
        unverified_peer_(time_, choices, trace_, nodes_), version_skew_(time_, choices, trace_, nodes_),
        progress_(time_, nodes_, net_, swarm_), autopilot_(time_, nodes_), agent_health_(nodes_, net_) {
    net_.faults = swarm_.network;
    time_.shuffle_per_million = swarm_.shuffle_per_million;
    time_.before = [this](const enlisted& who, const caf::type_erased_tuple& m) {
      nodes_.before(who, m);
      watcher_.before(who, m);
    };
    time_.after_message = [this](const enlisted& who) {
      watcher_.after(who);
      nodes_.bury_the_dead();
    };
    time_.busy = [this](const enlisted& who) { return busy_.of(who); };
    watcher_.committed = [this](const raft::entry& e, std::optional<virtual_time> made) {
      if (auto wrong = agent_health_.committed(e, made.value_or(time_.now())); wrong && !agent_complaint_)
        agent_complaint_ = std::move(wrong);
      tour_.committed(e);
      if (auto wrong = disconnects_.committed(e, clocks_shown()); wrong && report_.outcome == run_outcome::passed)
        fail(run_outcome::safety, "claims", *wrong);
      return idle_.committed(e);
    };
    watcher_.parked = [this](std::size_t node, request_id id) { clients_.on_parked(node, id); };
    watcher_.first_snapshot = [this](std::size_t node) { nemesis_.on_first_snapshot(node); };
    watcher_.campaigns = [this](std::size_t node) { nemesis_.on_campaign(node); };
    watcher_.restored = [this](std::size_t node) {
      nemesis_.on_restore(node);
      agent_health_.restored();
      cached_.restored();
    };
    watcher_.reads_chunk = [this](std::size_t node) { nemesis_.on_chunk_read(node); };
    watcher_.votes = [this](std::size_t node) { nemesis_.on_vote(node); };
    nodes_.answered = [this](std::size_t node, int life, const client_answer& a) {
      if (!autopilot_.take(node, life, a))
        clients_.on_notified(node, a);
    };
    clients_.begun = [this](const operation& o) {
      progress_.begun(o);
      disconnects_.begun(o);
    };
    clients_.left = [this](const operation& o) { disconnects_.left(o, time_.now(), clocks_shown()); };
    clients_.ended = [this](const operation& o) {
      progress_.ended(o);
      if (auto broken = delays_.ended(o); broken && report_.outcome == run_outcome::passed)
        fail(run_outcome::safety, "lock-delays", *broken);
      if (auto broken = claims_.ended(o); broken && report_.outcome == run_outcome::passed)
        fail(run_outcome::safety, "claims", *broken);
    };
    nemesis_.keep_clients_quiet = [this](virtual_time until) { clients_.keep_quiet(until); };
    if (nodes_.doors() != nullptr) {
      credentials_.emplace(time_, choices, trace_, nodes_, swarm_);
      unauthenticated_peer_.emplace(time_, choices, nodes_);
      unverified_peer_.let_in = [this](std::size_t node, const wire::hello& h) {
        return unauthenticated_peer_->connect(node, h);
      };
    }
    nodes_.well = [this](const std::string& target) { return agents_.is_well(target); };
    nodes_.received = [this](std::size_t, int, connection_id c, std::string_view bytes, bool last) {
      switch (owner_of(c)) {
      case connections_of::change_followers:
        return followers_.on_bytes(c, bytes, last);
      case connections_of::clients_of_agents:
        return agents_.on_bytes(c, bytes, last);
      case connections_of::operators:
        return credentials_->on_bytes(c, bytes, last);
      case connections_of::cached_readers:
        return cached_.on_bytes(c, bytes, last);
      case connections_of::library_clients:
        return library_.on_bytes(c, bytes, last);
      case connections_of::restart_tour:
        return tour_.on_bytes(c, bytes, last);
      case connections_of::clients:
      case connections_of::archive_transfers:
      case connections_of::client_agents: // they notice it themselves
        break;
      }
      return clients_.on_bytes(c, bytes, last);
    };
    nodes_.wiped = [this](std::size_t agent) { agents_.on_disk_lost(agent); };
    nodes_.led = [this](std::size_t node) {
      watcher_.on_led(node);
      disconnects_.led(time_.now());
      nemesis_.on_led(node);
    };
    nodes_.promised = [this](std::size_t node) { nemesis_.on_promised(node); };
    nodes_.joined = [this](std::size_t node) { nemesis_.on_joined(node); };
    nodes_.paused = [this](std::size_t node) {
      if (!nodes_.is_agent(node))
        watcher_.on_node_paused(node);
    };
    nodes_.resumed = [this](std::size_t node) {
      if (!nodes_.is_agent(node))
        watcher_.on_node_resumed(node);
    };
    nodes_.gone = [this](std::size_t node) {
      if (!nodes_.is_agent(node))
        watcher_.on_node_gone(node);
      clients_.on_node_gone(node);
      agents_.on_node_gone(node);
      cached_.on_node_gone(node);
      followers_.on_node_gone(node);
      library_.on_node_gone(node);
      tour_.on_node_gone(node);
      if (nodes_.is_agent(node))
        return;
      if (credentials_)
        credentials_->on_node_gone(node);
      nemesis_.on_node_gone(node);
    };
  }

  ~simulation() { // the callbacks are removed first
    nodes_.gone = nullptr;
    time_.before = nullptr;
    time_.after_message = nullptr;
  }
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  run_report execute() {
    report_.seed = tape_.seed();
    if (trace_.wanted())
      trace_.line(time_.now(), no_node,
                  "seed " + std::to_string(tape_.seed()) + ": " + describe(swarm_) + "; elections from " +
                      std::to_string(election_ms()) + " ms");
    try {
      nemesis_.start();
      agent_nemesis_.start();
      if (swarm_.faults.unverified_peer)
        unverified_peer_.start();
      if (nodes_.has_older_server())
        version_skew_.start();
      clients_.start();
      if (swarm_.agents)
        agents_.start();
      if (swarm_.client_agents != 0) {
        cached_.start();
        look_at_agents();
      }
      followers_.start();
      library_.start();
      if (credentials_) {
        credentials_->start();
        unauthenticated_peer_->start();
      }
      look_at_times();
      if (profile_.restarts ? restart_after_each() : run_until(profile_.chaos))
        recover();
      if (fine()) {
        watcher_.finish();
        if (fine())
          check_at_the_end();
      }
    } catch (const node_failure&) { // an invariant failed outside of an actor
    }
    fill_in();
    return report_;
  }

private:
  std::int64_t election_ms() const {
    const auto& l = swarm_.peer.limits;
    return std::chrono::duration_cast<milliseconds>(l.tick * l.election_ticks).count();
  }

  bool fine() {
    if (report_.outcome != run_outcome::passed)
      return false;
    if (credentials_)
      credentials_->look_at_members();
    if (!broken_check::text().empty())
      fail(run_outcome::safety, "invariants", broken_check::text());
    else if (watcher_.complaint())
      fail(run_outcome::safety, watcher_.complaint()->first, watcher_.complaint()->second);
    else if (late_)
      fail(run_outcome::liveness, "answer times", *late_);
    else if (nemesis_.complaint())
      fail(run_outcome::safety, "disks", *nemesis_.complaint());
    else if (clients_.complaint())
      fail(run_outcome::safety, clients_.complaint()->first, clients_.complaint()->second);
    else if (const auto* doors = nodes_.doors(); doors != nullptr && doors->complaint())
      fail(run_outcome::safety, doors->complaint()->first, doors->complaint()->second);
    else if (agents_.complaint())
      fail(run_outcome::safety, "catalog", *agents_.complaint());
    else if (agent_complaint_)
      fail(run_outcome::safety, "client agents", *agent_complaint_);
    else if (followers_.complaint())
      fail(run_outcome::safety, "changes", *followers_.complaint());
    else if (library_.complaint())
      fail(run_outcome::safety, "library", *library_.complaint());
    else if (cached_.complaint())
      fail(run_outcome::safety, "cached answers", *cached_.complaint());
    else if (auto slow = progress_.look())
      fail(run_outcome::liveness, "progress", *slow);
    else if (auto storm = storm_.look(time_.now(), trace_.events()))
      fail(run_outcome::liveness, "storm", *storm);
    return report_.outcome == run_outcome::passed;
  }

  disconnect_checker::clocks clocks_shown() {
    disconnect_checker::clocks shown;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      shown.push_back(nodes_.clock(i).now().time_since_epoch());
    return shown;
  }

  void look_at_times() {
    for (std::size_t i = 0; i < nodes_.node_count() && !late_; ++i)
      late_ = times_.look(i, nodes_.running(i), time_.now(), nodes_.clock(i).now().time_since_epoch());
    time_.after(times_every, [this] { look_at_times(); });
  }

  void look_at_agents() {
    std::uint64_t faults = 0;
    for (const auto& [name, count] : nemesis_.counts())
      faults += count;
    if (faults != std::exchange(faults_seen_, faults))
      last_fault_ = time_.now();
    last_fault_ = std::max(last_fault_, agent_nemesis_.last_change());
    std::vector<virtual_time> renewed;
    for (std::size_t i = nodes_.size(); i < nodes_.node_count(); ++i)
      renewed.push_back(agent_nemesis_.renewed(i));
    if (auto wrong = agent_health_.look(time_.now(), last_fault_, renewed); wrong && !agent_complaint_)
      agent_complaint_ = std::move(wrong);
    cached_.look(last_fault_, agent_health_.quiet_since());
    time_.after(agents_every, [this] { look_at_agents(); });
  }

  void fail(run_outcome v, const std::string& checker, const std::string& what) {
    report_.outcome = v;
    report_.checker = checker;
    report_.what = what;
  }

  /// @returns false: a rule was broken.
  bool run_until(virtual_time end) {
    while (fine())
      if (!time_.step(end))
        return true;
    return false;
  }

  /// @returns false: a rule was broken, or the goal was not reached within the limit.
  bool run_until_reached(const std::function<bool()>& goal, virtual_time limit) {
    const auto end = time_.now() + limit;
    while (fine() && !goal())
      if (!run_until(std::min<virtual_time>(end, time_.now() + milliseconds(10))) || time_.now() >= end)
        return fine() && goal();
    return fine();
  }

  /// Runs the profile `restart-after-each`. @returns false: a rule was broken
  bool restart_after_each() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      healed_nodes_.insert(i);
    restart_tour::steps by;
    by.until = [this](const std::function<bool()>& goal) { return run_until_reached(goal, recovery_max); };
    by.pass = [this](virtual_time t) { return run_until(time_.now() + t); };
    by.settled = [this] { return agreed_leader().has_value() && converged(); };
    const auto wrong = tour_.run(by);
    if (wrong && fine())
      fail(run_outcome::safety, "restarts", *wrong + "; " + describe_nodes());
    return fine();
  }

  // ---- after the faults

  void recover() {
    watcher_.look_at_costs();
    clients_.stop_writing();
    agents_.stop();
    cached_.stop();
    unverified_peer_.stop();
    version_skew_.stop();
    if (unauthenticated_peer_)
      unauthenticated_peer_->stop();
    healed_nodes_ = nemesis_.heal();
    agent_nemesis_.heal();
    library_.stop();
    if (credentials_)
      credentials_->put_right();
    const auto healed_at = time_.now();
    if (trace_.wanted())
      trace_.line(time_.now(), no_node, "the faults are over");
    const auto until = [&](const char* what, const std::function<bool()>& goal) {
      if (fine() && !run_until_reached(goal, recovery_max) && fine())
        fail(run_outcome::liveness, what, describe_nodes());
    };
    waited_until_ = healed_at;
    fault_ends_ = {healed_at};
    late_until_ = net_.last_arrival_among(healed_nodes_);
    settle("leader", [this] { return agreed_leader().has_value() || note_wait(); });
    settle("convergence", [this] { return (agreed_leader() && converged()) || note_wait(); });
    note_wait();
    const auto last_fault = *std::prev(fault_ends_.upper_bound(time_.now()));
    report_.last_fault_to_convergence = std::chrono::duration_cast<milliseconds>(time_.now() - last_fault);
    report_.heal_to_convergence = std::chrono::duration_cast<milliseconds>(time_.now() - healed_at);
    if (!fine())
      return;
    // A write through each working member must finish and wake all clients that wait for its key.
    for (const auto node : serving_nodes()) {
      for (const auto& key : clients_.keys()) {
        std::uint64_t id = 0;
        until("write", [this, node, &key, &id] {
          if (id == 0 || (clients_.find(id).result != outcome::pending && clients_.find(id).result != outcome::done))
            id = nodes_.running(node) ? clients_.put(node, key) : 0;
          return id != 0 && clients_.find(id).result == outcome::done;
        });
        if (!fine())
          return;
      }
    }
    // A renewal through each must be decided, although the leader may lack a lease for its term.
    for (const auto node : serving_nodes()) {
      std::uint64_t id = 0;
      until("renewal", [this, node, &id] {
        if (id == 0 || is_undecided(clients_.find(id)))
          id = nodes_.running(node) ? clients_.renew_unknown(node) : 0;
        return id != 0 && clients_.find(id).result != outcome::pending && !is_undecided(clients_.find(id));
      });
      if (!fine())
        return;
    }
    // All keys that a client may wait for were written, so no earlier query may still be parked.
    std::vector<std::uint64_t> waiting;
    for (const auto node : serving_nodes())
      for (auto id : clients_.parked_at(node))
        if (clients_.find(id).read->min_index < replies_.committed().value && clients_.find(id).invoked < time_.now())
          waiting.push_back(id);
    until("watches", [&] {
      return std::all_of(waiting.begin(), waiting.end(), [&](std::uint64_t id) {
        return clients_.find(id).result != outcome::pending || clients_.find(id).read->min_index >= last_change(id);
      });
    });
    all_streams_are_notified();
    until_none("library", [this] { return library_.unfinished(); });
    settle("convergence", [this] { return agreed_leader() && converged(); });
    if (!swarm_.frozen)
      check_autopilot();
    if (swarm_.agents)
      until_catalog_fits();
    // After a restore agents may still have something to register. A lost server may be removed,
    // and a new one may get its vote, at any time.
    if (!swarm_.frozen && !swarm_.snapshots && swarm_.replicas == 0 && swarm_.claimers == 0 && swarm_.followers == 0 &&
        swarm_.repeaters == 0 && swarm_.library == 0 && tape_.chance({stream_kind::swarm, 1101}, idle_per_million))
      stand_idle();
    // The rest of the calm: no rule may be broken.
    if (fine())
      run_until(std::max<virtual_time>(profile_.chaos + profile_.calm, time_.now()));
  }

  /// Every client that follows changes receives all of them, even if its earlier streams broke.
  void all_streams_are_notified() {
    const auto there = replies_.committed();
    until_none("streams", [&] {
      followers_.stay_at(nodes_of_working_servers());
      return followers_.lacking(there);
    });
  }

  /// The serving nodes, except client agents connected to a broken server, which may send nothing.
  std::vector<std::size_t> nodes_of_working_servers() {
    auto found = serving_nodes();
    std::erase_if(found, [this](std::size_t node) {
      if (!nodes_.is_agent(node))
        return false;
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (!healed_nodes_.contains(i) && nodes_.connections_of_agents().is_connected(node, i))
          return true;
      return false;
    });
    return found;
  }

  /// @param missing describes what is not yet as required; empty: nothing
  void until_none(const char* what, const std::function<std::string()>& missing) {
    if (fine() && !run_until_reached([&] { return missing().empty(); }, recovery_max) && fine())
      fail(run_outcome::liveness, what, missing());
  }

  /// Checks autopilot's report on the servers once they are healthy, or broken, and stay so.
  void check_autopilot() {
    const auto is_reported = [this](
                                 std::set<std::size_t> well, std::optional<std::size_t> full = {},
                                 const std::function<bool()>& not_so = [] { return false; }) {
      autopilot_.expect(std::move(well), full);
      const auto right = [&] { return !autopilot_.wrong() || not_so(); };
      if (fine() && !run_until_reached(right, autopilot_max) && fine())
        fail(run_outcome::safety, "autopilot", *autopilot_.wrong());
      return fine();
    };
    const auto leader = agreed_leader();
    if (!fine() || !leader)
      return;
    std::set<std::size_t> well;
    for (const auto i : healed_nodes_)
      if (nodes_.running(i))
        well.insert(i);
    if (!is_reported(well) || !tape_.chance({stream_kind::swarm, 1001}, 250'000))
      return;
    // Fills the disk of a follower, if the remaining voters are a quorum.
    auto voters = members();
    std::erase(voters, *leader);
    if (voters.empty() || 2 * voters.size() <= nodes_.view(*leader).config.voters.size())
      return;
    const auto victim = voters.back();
    auto& disk = nodes_.disk(victim);
    disk.set_full(true);
    trace_.line(time_.now(), victim, "disk is full");
    // The existing log segment may still have space.
    const auto has = [&] {
      const auto* core = nodes_.core(*leader);
      for (const auto& p : core == nullptr ? std::vector<raft::progress_view>() : core->progress())
        if (p.id == nodes_.id_of(victim))
          return p.match;
      return log_index{};
    };
    auto known = has();
    auto stands_since = time_.now();
    const auto end = time_.now() + filling_max;
    const auto leads = [&] {
      const auto* core = nodes_.core(*leader);
      return nodes_.leader() == leader && core != nullptr;
    };
    // There are entries to write, and the victim does not write them.
    const auto noticed = [&] {
      return leads() && nodes_.core(*leader)->last_index() > known && time_.now() - stands_since >= stands_still;
    };
    while (fine() && !noticed() && time_.now() < end && nodes_.running(*leader)) {
      clients_.put(*leader, clients_.keys().front());
      run_until(time_.now() + milliseconds(5));
      if (const auto now = has(); now != known) {
        known = now;
        stands_since = time_.now();
      }
    }
    if (!fine())
      return;
    if (noticed()) {
      PROBE("sim: a full disk is told to operators");
      auto others = well;
      others.erase(victim);
      if (!is_reported(others, victim, [&] { return has() != known || !leads(); })) // it was only slow
        return;
    }
    disk.set_full(false);
    settle("convergence", [this] { return agreed_leader() && converged(); });
    is_reported(well);
  }

  /// The registrations and check results of the agents must reach the catalog.
  void until_catalog_fits() {
    const auto difference = [this] {
      const auto leader = agreed_leader();
      const auto* machine = leader ? nodes_.machine(*leader) : nullptr;
      if (machine == nullptr)
        return std::string("no leader");
      auto nodes = healed_nodes_;
      for (auto i = nodes_.size(); i < nodes_.node_count(); ++i)
        nodes.insert(i);
      auto wrong = agents_.difference(nodes, *machine);
      return wrong.empty() ? agent_health_.difference(*machine) : wrong;
    };
    until_none("catalog", difference);
  }

  void stand_idle() {
    // An acquire may wait for the end of a lock delay, and longer in true time if a clock is slow.
    if (!fine() || !run_until(time_.now() + idle_after) ||
        !run_until_reached([this] { return !clients_.writes_wait(); }, idle_after))
      return;
    if (const auto leader = agreed_leader()) {
      PROBE("sim: nobody wants anything");
      idle_.begin(nodes_.view(*leader).soft.term);
      run_until(time_.now() + idle_for);
      idle_.end();
    }
    if (fine() && !agreed_leader())
      fail(run_outcome::liveness, "idle", describe_nodes());
  }

  void settle(const char* what, const std::function<bool()>& goal) {
    const auto end = time_.now() + catching_up_max;
    for (auto reached = slowest(); fine() && !run_until_reached(goal, recovery_max) && fine();) {
      const auto before = std::exchange(reached, slowest());
      if (reached <= before || time_.now() >= end)
        fail(run_outcome::liveness, what, describe_nodes());
    }
  }

  /// Adds the time since the last call to the current wait. @returns false
  bool note_wait() {
    if (const auto waited = std::chrono::duration_cast<milliseconds>(time_.now() - waited_until_); waited.count() > 0) {
      report_.waited_ms[awaited_] += static_cast<std::uint64_t>(waited.count());
      waited_until_ += waited;
    }
    awaited_ = awaited(nodes_, healed_nodes_);
    if (std::any_of(healed_nodes_.begin(), healed_nodes_.end(),
                    [this](std::size_t i) { return nodes_.state(i) == node_state::down && nodes_.life(i) > 0; }))
      fault_ends_.insert(time_.now());
    else if (awaited_ != "time-out" && awaited_ != "broken leader")
      awaited_ += lasting_fault();
    return false;
  }

  /// A fault that lasts from before the healing, or a slow sync since then. Its name is appended to
  /// the name of the wait.
  std::string lasting_fault() {
    if (late_until_ > time_.now() + noticeable)
      return fault_ends_.insert(late_until_), " (late frames)";
    for (const auto& [where, end] : busy_.hangs_until())
      if (end > time_.now() && healed_nodes_.contains(where.first) && time_.is_busy(where.first, where.second))
        return fault_ends_.insert(end), " (disk hangs)";
    return "";
  }

  /// The smallest applied index of the healed nodes.
  log_index slowest() {
    auto least = log_index{UINT64_MAX};
    for (auto i : healed_nodes_)
      if (const auto* machine = nodes_.machine(i))
        least = std::min(least, machine->applied_index());
    return least;
  }

  /// Last change of the key or prefix that a query waits for. recover() has written all keys.
  std::uint64_t last_change(std::uint64_t id) {
    const auto& o = clients_.find(id);
    const auto leader = nodes_.leader();
    const auto* machine = nodes_.machine(o.through_agent && leader ? *leader : o.node);
    return machine == nullptr ? 0 : machine->index_of(o.read->query).value;
  }

  /// The healed nodes that run in their final role: voter, read replica, or client agent.
  std::vector<std::size_t> serving_nodes() {
    auto found = members();
    const auto leader = agreed_leader();
    for (auto i : healed_nodes_)
      if (leader && nodes_.running(i) && nodes_.is_replica(i) && nodes_.view(*leader).config.contains(nodes_.id_of(i)))
        found.push_back(i);
    for (auto i = nodes_.size(); i < nodes_.node_count(); ++i)
      if (nodes_.running(i))
        found.push_back(i);
    return found;
  }

  /// The healed nodes that run and vote.
  std::vector<std::size_t> members() {
    std::vector<std::size_t> found;
    const auto leader = agreed_leader();
    for (auto i : healed_nodes_)
      if (leader && nodes_.running(i) && nodes_.view(*leader).config.is_voter(nodes_.id_of(i)))
        found.push_back(i);
    return found;
  }

  std::optional<std::size_t> agreed_leader() {
    const auto leader = nodes_.leader();
    if (!leader || !healed_nodes_.contains(*leader))
      return std::nullopt;
    const auto& config = nodes_.view(*leader).config;
    for (auto i : healed_nodes_) {
      if (nodes_.state(i) == node_state::down && (nodes_.life(i) > 0))
        return std::nullopt;
      if (!nodes_.running(i))
        continue;
      if (!config.contains(nodes_.id_of(i)) || nodes_.view(i).soft.leader != nodes_.id_of(*leader) ||
          nodes_.view(i).soft.term != nodes_.view(*leader).soft.term)
        return std::nullopt;
    }
    return leader;
  }

  bool converged() {
    std::optional<std::pair<log_index, std::uint64_t>> first;
    for (auto i : healed_nodes_) {
      const auto* machine = nodes_.machine(i);
      if (machine == nullptr)
        continue;
      const std::pair now{machine->applied_index(), machine->digest()};
      if (first && *first != now)
        return false;
      first = now;
    }
    return true;
  }

  std::string describe_nodes() {
    std::string text;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto* core = nodes_.core(i);
      text += "n" + std::to_string(i) + (healed_nodes_.contains(i) ? ": " : " (broken): ") +
              (core == nullptr ? "down" : core->describe()) + "; ";
    }
    return text;
  }

  void check_at_the_end() {
    if (auto broken = replies_.finish())
      return fail(run_outcome::safety, "replies", *broken);
    if (auto broken = watches_.finish(time_.now()))
      return fail(run_outcome::safety, "watches", *broken);
    if (auto broken = sessions_.finish(time_.now()))
      return fail(run_outcome::safety, "sessions", *broken);
    if (swarm_.lease_is_safe())
      if (auto broken = claims_.finish(time_.now()))
        return fail(run_outcome::safety, "claims", *broken);
    if (!nodes_.has_older_server() && replies_.model().restores().empty())
      if (auto broken = disconnects_.finish(time_.now(), [this](std::size_t node, int life) {
            return healed_nodes_.contains(node) && nodes_.running(node) && nodes_.life(node) == life;
          }))
        return fail(run_outcome::safety, "claims", *broken);
    // A restore writes all keys at once, but the search handles one key at a time.
    if (tape_.seed() % search_every != 0 || swarm_.claimers != 0 || !replies_.model().restores().empty())
      return;
    const auto searched = check_linearizability(
        swarm_.consistent_by_default ? register_history(clients_.history())
                                     : register_history(clients_.history(), swarm_.lease_is_safe(), &clocks_));
    if (searched.finding == linearizable::no)
      fail(run_outcome::safety, "linearizability", "key " + searched.key + ": " + searched.text);
    if (searched.finding == linearizable::gave_up)
      PROBE("sim: linearizability search gave up");
  }

  void fill_in() {
    auto& r = report_;
    if (r.outcome == run_outcome::passed)
      fine();
    r.trace_hash = trace_.hash();
    r.events = trace_.events();
    r.duration = time_.now();
    r.choices = tape_.taken().size();
    r.elections = watcher_.elections();
    r.wrongly_released_locks = sessions_.wrongly_released();
    r.faults = nemesis_.counts();
    r.faults.insert(agent_nemesis_.counts().begin(), agent_nemesis_.counts().end());
    if (unverified_peer_.frames() > 0)
      r.faults["stranger"] = unverified_peer_.frames();
    if (credentials_ && credentials_->steps() > 0)
      r.faults["credentials changed"] = credentials_->steps();
    if (credentials_ && credentials_->mistakes() > 0)
      r.faults["credentials wrong"] = credentials_->mistakes();
    if (unauthenticated_peer_ && unauthenticated_peer_->attempts() > 0)
      r.faults["uninvited"] = unauthenticated_peer_->attempts();
    if (version_skew_.requested() > 0)
      r.faults["newer-command"] = version_skew_.requested();
    r.longest_write_gap = std::chrono::duration_cast<milliseconds>(clients_.longest_write_gap());
    for (const auto& o : clients_.history()) {
      ++r.operations;
      r.done += o.result == outcome::done ? 1 : 0;
      r.refused += o.result == outcome::refused ? 1 : 0;
      r.unknown += o.result == outcome::unknown ? 1 : 0;
    }
  }

  tape& tape_;
  profile profile_;
  event_trace trace_;
  swarm swarm_;
  schedule time_;
  simulated_network net_;
  cluster nodes_;
  busy_times busy_;
  paused_clocks clocks_;
  reply_checker replies_;
  watch_checker watches_;
  session_checker sessions_;
  lock_delay_checker delays_;
  claims_checker claims_;
  disconnect_checker disconnects_{replies_.model()};
  wait_checker waits_;
  answer_time_checker times_;
  idle_checker idle_;
  floor_checker floors_;
  observer watcher_;
  workload clients_;
  agent_workload agents_;
  cached_reader cached_;
  change_followers followers_;
  restart_tour tour_;
  library_ground library_;
  nemesis nemesis_;
  agent_nemesis agent_nemesis_;
  unverified_peer unverified_peer_;
  std::optional<credential_operator> credentials_; ///< none: servers have no credentials
  std::optional<unauthenticated_peer> unauthenticated_peer_;
  version_skew version_skew_;
  progress_checker progress_;
  autopilot_checker autopilot_;
  client_agent_checker agent_health_;
  broken agent_complaint_;
  std::uint64_t faults_seen_ = 0;
  virtual_time last_fault_{0};
  std::set<std::size_t> healed_nodes_;
  broken late_; ///< a request without a response
  run_report report_;
  std::set<virtual_time> fault_ends_; ///< ends of the faults that outlasted the healing, and of the healing itself
  virtual_time late_until_{0};        ///< frames that were delayed before the healing arrive until then
  virtual_time waited_until_{0};      ///< report_.waited_ms covers the time up to here
  std::string awaited_ = "start";     ///< the wait since then
  storm_checker storm_;
};

} // namespace

run_report run(tape& choices, const run_options& options) {
  std::optional<broken_check> checks(std::in_place);
  belay::log::settings quiet;
  quiet.to_stdout = false;
  belay::log::configure(quiet);
  simulation s(choices, options);
  auto report = s.execute();
  checks.reset(); // A check that fails while the cluster is destroyed ends the process, with its text.
  return report;
}

} // namespace belay::sim
