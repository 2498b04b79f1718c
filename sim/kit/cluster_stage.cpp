#include "sim/kit/cluster_stage.hpp"

#include "actors/telemetry/log.hpp"
#include "sim/environment/busy_times.hpp"
#include "sim/environment/node_failure.hpp"
#include "sim/environment/storm_checker.hpp"
#include "sim/faults/nemesis.hpp"
#include "sim/kit/library_ground.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace belay::sim {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

struct known_fault {
  std::string_view name;
  bool fault_set::*where;
};
constexpr std::array known_faults = {
    known_fault{"kill", &fault_set::kill},
    known_fault{"power", &fault_set::power},
    known_fault{"blackout", &fault_set::blackout},
    known_fault{"pause", &fault_set::pause},
    known_fault{"partition", &fault_set::partition},
    known_fault{"one-way", &fault_set::one_way},
    known_fault{"reset", &fault_set::reset},
    known_fault{"isolate-leader", &fault_set::isolate_leader},
    known_fault{"disk-full", &fault_set::disk_full},
    known_fault{"disk-stall", &fault_set::disk_stall},
    known_fault{"disk-error", &fault_set::disk_error},
    known_fault{"bit-flip", &fault_set::bit_flip},
    known_fault{"commit-damage", &fault_set::commit_damage},
    known_fault{"disk-loss", &fault_set::disk_loss},
    known_fault{"membership", &fault_set::membership},
    known_fault{"transfer", &fault_set::transfer},
    known_fault{"reconfigure", &fault_set::reconfigure},
    known_fault{"leader-hunt", &fault_set::targeted_at_leader},
    known_fault{"clock-rate", &fault_set::clock_rate},
    known_fault{"clock-jump", &fault_set::clock_jump},
    known_fault{"clock-year", &fault_set::clock_year},
    known_fault{"slow-actors", &fault_set::slow_actors},
    known_fault{"half-lost-disk", &fault_set::half_lost_disk},
    known_fault{"suspend", &fault_set::suspend},
    known_fault{"machine-stop", &fault_set::machine_stop},
    known_fault{"clock-wild", &fault_set::clock_wild},
};
// Faults that servers are not designed for (docs/operate/operations.md, "Machines that are paused"; clocks
// outside of the stated bound): only for scenarios that request them.
constexpr std::array<std::string_view, 2> only_on_request = {"machine-stop", "clock-wild"};

// Undisturbed servers find each other and elect a leader in less time.
constexpr milliseconds clients_begin{1000};
// Interval between the checks of `owed`.
constexpr milliseconds owed_every{10};
constexpr connection_id first_connection = connection_id{1} << 40;

swarm swarm_for(tape& choices, const profile& p, const belay_ground::plan& wanted) {
  auto s = draw_swarm(choices, p);
  s.nodes = wanted.servers;
  s.beginning = beginning::as_expected;
  s.replicas = s.client_agents = s.library = 0;
  s.older = SIZE_MAX;
  s.acls = acl_mode::off;
  s.credentials = credential_plan::none;
  s.peer.autopilot.cleanup_dead_servers = false;
  s.peer.autopilot.server_stabilization_ns = 0;
  s.peer.queued_calls_max = forward::queued_calls::count_max;
  // With 1.5 s, calls would end before an election can.
  s.peer.queue_timeout = std::max<milliseconds>(s.peer.queue_timeout, 1500ms);
  for (const auto& f : known_faults) {
    const std::string name(f.name);
    const bool requested_for =
        std::find(only_on_request.begin(), only_on_request.end(), f.name) == only_on_request.end() ||
        wanted.with.contains(name);
    if (!wanted.any_faults || !requested_for || wanted.without.contains(name))
      s.faults.*f.where = false;
  }
  s.faults.unverified_peer = false;
  s.spares = s.faults.membership || s.faults.reconfigure ? 1 : 0;
  return s;
}

/// One run, from beginning to end.
class cluster_stage final : public belay_ground::ground {
public:
  cluster_stage(tape& choices, const run_options& options, const profile& p, const belay_ground::plan& wanted)
      : tape_(choices), plan_(wanted), swarm_(swarm_for(choices, p, wanted)), story_(options.trace),
        node_actors_(nullptr), time_(choices, node_actors_), net_(time_, choices, node_actors_),
        nodes_(time_, choices, story_, net_, swarm_), busy_(time_, choices, nodes_, swarm_),
        nemesis_(time_, choices, story_, nodes_, net_, swarm_) {
    net_.faults = swarm_.network;
    time_.shuffle_per_million = swarm_.shuffle_per_million;
    time_.before = [this](const enlisted& who, const caf::type_erased_tuple& m) { nodes_.before(who, m); };
    time_.after_message = [this](const enlisted&) { nodes_.bury_the_dead(); };
    time_.busy = [this](const enlisted& who) { return busy_.of(who); };
    nodes_.received = [this](std::size_t, int, connection_id c, std::string_view bytes, bool last) {
      return exchanges_.on_bytes(c, bytes, last);
    };
    nodes_.led = [this](std::size_t node) {
      ++elections_;
      story_.line(time_.now(), node, "leads");
      nemesis_.on_led(node);
    };
    nemesis_.keep_clients_quiet = [](virtual_time) {}; // they are the user's
    nodes_.promised = [this](std::size_t node) { nemesis_.on_promised(node); };
    nodes_.joined = [this](std::size_t node) { nemesis_.on_joined(node); };
    nodes_.gone = [this](std::size_t node) {
      exchanges_.on_node_gone(node);
      nemesis_.on_node_gone(node);
    };
  }
  ~cluster_stage() override { nodes_.gone = nullptr; }

  run_report execute() {
    story_.line(time_.now(), no_node, "seed " + std::to_string(tape_.seed()) + ": " + words_of_run());
    {
      // Ends the clients even if something is thrown.
      struct end_of_clients {
        const belay_ground::plan& of;
        ~end_of_clients() { of.end(); }
      } const end{plan_};
      try {
        nemesis_.start();
        time_.after(clients_begin, [this] { plan_.begin(*this); });
        if (run_until(plan_.faults))
          recover();
      } catch (const node_failure&) { // an invariant failed outside of an actor
      }
    }
    fine();
    if (report_.outcome != run_outcome::passed)
      story_.line(time_.now(), no_node, "BROKEN: " + report_.checker + ": " + report_.what);
    report_.trace_hash = story_.hash() ^ node_actors_.hash() * 3;
    report_.events = node_actors_.events();
    report_.duration = time_.now();
    report_.choices = tape_.taken().size();
    report_.elections = elections_;
    report_.faults = nemesis_.counts();
    return report_;
  }

  // ---- ground

  belay_ground::moment now() const override { return time_.now(); }
  void at(belay_ground::moment when, std::function<void()> what) override { time_.at(when, std::move(what)); }
  std::uint64_t choose(std::uint16_t number, std::uint64_t n) override {
    return tape_.choose({stream_kind::client, number}, n);
  }
  std::uint64_t choose_rarely(std::uint16_t number, std::uint64_t n, std::uint32_t per_million) override {
    return tape_.choose_rarely({stream_kind::client, number}, n, per_million);
  }
  std::size_t servers() const override { return swarm_.nodes; }
  bool listens(std::size_t server) const override { return exchanges_.listens(server); }

  std::uint64_t send(std::size_t server, std::string bytes, std::function<void(belay_ground::reply)> reached) override {
    return exchanges_.send(server, std::move(bytes),
                           [reached = std::move(reached)](exchange_end end) { reached(reply_of(std::move(end))); });
  }
  void hang_up(std::uint64_t number) override { exchanges_.hang_up(number); }

  void note(std::uint64_t what) override { story_.add(what); }
  bool traces() const override { return story_.wanted(); }
  void add_line(std::string_view who, const std::string& text) override {
    story_.line(time_.now(), no_node, std::string(who) + (who.empty() ? "" : " ") + text);
  }

private:
  std::string words_of_run() const {
    const auto all = describe(swarm_);
    const auto faults = all.substr(all.find("faults:"));
    return std::to_string(swarm_.nodes) + " servers; " + faults.substr(0, faults.find(';'));
  }

  void fail(run_outcome v, std::string checker, std::string what) {
    report_.outcome = v;
    report_.checker = std::move(checker);
    report_.what = std::move(what);
  }

  bool fine() {
    if (report_.outcome != run_outcome::passed)
      return false;
    if (!broken_check::text().empty())
      fail(run_outcome::safety, "invariants", broken_check::text());
    else if (nemesis_.complaint())
      fail(run_outcome::safety, "disks", *nemesis_.complaint());
    else if (auto broken = plan_.look())
      fail(run_outcome::safety, std::move(broken->checker), std::move(broken->text));
    else if (auto storm = storm_.look(time_.now(), node_actors_.events()))
      fail(run_outcome::liveness, "storm", *storm);
    return report_.outcome == run_outcome::passed;
  }

  void look_at_sessions() {
    const auto leader = nodes_.leader();
    const auto* machine = leader ? nodes_.machine(*leader) : nullptr;
    if (machine == nullptr || machine->applied_index() <= seen_)
      return;
    seen_ = machine->applied_index();
    std::set<std::string> now;
    machine->for_each_session([&now](const state::session_ptr& s) { now.insert(s->id); });
    for (const auto& id : sessions_)
      if (!now.contains(id))
        plan_.session_over(id);
    sessions_ = std::move(now);
  }

  /// @returns false: a rule was broken.
  bool run_until(virtual_time end) {
    while (fine()) {
      if (story_.wanted())
        look_at_sessions();
      if (!time_.step(end))
        return true;
    }
    return false;
  }

  void recover() {
    nemesis_.heal();
    plan_.heal();
    story_.line(time_.now(), no_node, "the faults are over");
    const auto healed_at = time_.now();
    const auto end = healed_at + plan_.calm;
    auto owed = plan_.owed();
    while (owed && time_.now() < end && run_until(std::min<virtual_time>(end, time_.now() + owed_every))) {
      report_.waited_ms[owed->text] += static_cast<std::uint64_t>(owed_every.count());
      owed = plan_.owed();
    }
    if (report_.outcome != run_outcome::passed)
      return;
    if (owed)
      fail(run_outcome::liveness, std::move(owed->checker), std::move(owed->text));
    report_.heal_to_convergence = std::chrono::duration_cast<milliseconds>(time_.now() - healed_at);
  }

  tape& tape_;
  const belay_ground::plan& plan_;
  swarm swarm_;
  event_trace story_;       ///< events of servers and clients
  event_trace node_actors_; ///< messages and frames, without a reader
  schedule time_;
  simulated_network net_;
  cluster nodes_;
  busy_times busy_;
  nemesis nemesis_;
  exchanges exchanges_{time_, story_, nodes_, first_connection};
  log_index seen_;                 ///< by look_at_sessions()
  std::set<std::string> sessions_; ///< at that index
  std::uint64_t elections_ = 0;
  run_report report_;
  storm_checker storm_;
};

} // namespace

run_report run_scenario(tape& choices, const run_options& options, const belay_ground::named_scenario& scenario) {
  const broken_check checks;
  belay::log::settings quiet;
  quiet.to_stdout = false;
  belay::log::configure(quiet);
  run_report report;
  report.seed = choices.seed();
  report.outcome = run_outcome::safety;
  report.checker = "scenario";
  report.what = "it has not called run()";
  scenario.body([&](const belay_ground::plan& wanted, const belay_ground::outcome_counts& counts) {
    auto p = options.profile;
    p.nodes = {wanted.servers};
    p.faults = wanted.any_faults;
    report = cluster_stage(choices, options, p, wanted).execute();
    report.seed = choices.seed();
    report.operations = counts.requested;
    report.done = counts.done;
    report.refused = counts.refused;
    report.unknown = counts.unknown;
    report.faults.insert(counts.faults.begin(), counts.faults.end());
  });
  return report;
}

} // namespace belay::sim

std::vector<std::string> belay_ground::fault_names() {
  std::vector<std::string> names;
  for (const auto& f : belay::sim::known_faults)
    names.emplace_back(f.name);
  return names;
}
