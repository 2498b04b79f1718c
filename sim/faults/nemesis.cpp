#include "sim/faults/nemesis.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr stream what_next{stream_kind::nemesis, 0};
constexpr stream wall_clocks{stream_kind::nemesis, 0x7FFD};
// The share of the nemesis's rounds in which something happens.
constexpr std::uint32_t activity = 600'000;

/// How a leader is isolated.
enum class leader_isolation : std::uint8_t { cut_off, unheard, deaf, outrun, outwait, oversleep };
constexpr share<leader_isolation> leader_isolations[] = {
    {leader_isolation::cut_off, 1}, {leader_isolation::unheard, 1}, {leader_isolation::deaf, 1},
    {leader_isolation::outrun, 2},  {leader_isolation::outwait, 1}, {leader_isolation::oversleep, 1},
};

enum class clock_fault : std::uint8_t { rate, jump, wall_set };
constexpr share<clock_fault> clock_faults[] = {
    {clock_fault::rate, 1}, {clock_fault::jump, 1}, {clock_fault::wall_set, 1}};

/// How a node stays broken until the end of the run.
enum class lasting_fault : std::uint8_t { down, paused, unheard, deaf };
constexpr share<lasting_fault> lasting_faults[] = {
    {lasting_fault::down, 1}, {lasting_fault::paused, 1}, {lasting_fault::unheard, 1}, {lasting_fault::deaf, 1}};

/// Which node is cut off during a leadership transfer.
enum class cut_in_transfer : std::uint8_t { no_node, old_leader, anyone };
constexpr share<cut_in_transfer> cuts_in_transfer[] = {
    {cut_in_transfer::no_node, 1}, {cut_in_transfer::old_leader, 1}, {cut_in_transfer::anyone, 1}};

} // namespace

nemesis::nemesis(schedule& time, tape& choices, event_trace& trace, cluster& nodes, simulated_network& net,
                 const swarm& s)
    : time_(time), tape_(choices), trace_(trace), nodes_(nodes), net_(net), swarm_(s), detail_(what_next) {}

void nemesis::start() {
  acting_ = true;
  if (swarm_.faults.clock_year)
    set_wall_clocks();
  for (std::size_t i = 0; i < swarm_.nodes; ++i)
    start_later(i, milliseconds(10 * i));
  for (std::size_t i = swarm_.nodes + swarm_.spares; i < nodes_.size(); ++i)
    start_later(i, milliseconds(10 * i));
  time_.after(milliseconds(1200), [this] { act(); });
  if (swarm_.faults.half_lost_disk)
    lose_parts();
  if (swarm_.beginning == beginning::more_than_expected)
    disturb_bootstrap();
  if (swarm_.faults.suspend || swarm_.faults.machine_stop)
    time_.after(milliseconds(1500), [this] { stop_machines(); });
}

// ---- one round

/// One round: draws an action and, if the swarm has that kind of fault, injects it at a random
/// running node. Each action ends by itself: the node starts, the link heals or the clock is set
/// again after a drawn time.
void nemesis::act() {
  if (!acting_)
    return;
  ++rounds_;
  time_.after(swarm_.nemesis_interval, [this] { act(); });
  if (time_.now() < next_fault_not_before_ || swarm_.rests_at(time_.now()))
    return;
  enum class action : std::uint64_t {
    nothing,
    kill,
    power,
    blackout,
    pause,
    partition,
    one_way,
    reset,
    isolate_leader,
    disk,
    disk_loss,
    membership,
    transfer,
    clock,
    kill_leader,
    reconfigure,
    count,
  };
  constexpr std::uint64_t frozen_count = 16; // the actions of the profile `reference`; later additions follow them
  const auto count = swarm_.frozen ? frozen_count : static_cast<std::uint64_t>(action::count);
  const auto drawn = static_cast<action>(tape_.choose_rarely(what_next, count, activity));
  // Each round has its own stream of random numbers, so removing one does not change the others.
  detail_ = {stream_kind::nemesis, rounds_};
  const auto& f = swarm_.faults;
  const auto victim = some_running();
  if (!victim)
    return;
  switch (drawn) {
  case action::kill:
  case action::kill_leader:
    if (f.kill) {
      const auto target = drawn == action::kill_leader ? nodes_.leader().value_or(*victim) : *victim;
      count_fault("kill");
      nodes_.kill(target);
      start_later(target, some_time());
    }
    break;
  case action::power:
    if (const auto leader = nodes_.leader(); f.power && leader && draw(3) == 2) {
      tempt_to_forget(*leader, forgetting::by_power);
    } else if (f.power) {
      count_fault("power");
      nodes_.power_off(*victim);
      start_later(*victim, some_time());
    }
    break;
  case action::blackout:
    if (f.blackout) {
      count_fault("blackout");
      for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (nodes_.state(i) != node_state::down) {
          nodes_.power_off(i);
          start_later(i, some_time());
        }
    }
    break;
  case action::pause:
    if (f.pause) {
      count_fault("pause");
      stand_still(*victim, some_time());
    }
    break;
  case action::partition:
    if (f.partition)
      split(1 + draw((std::uint64_t{1} << nodes_.size()) - 2));
    break;
  case action::one_way:
    if (f.one_way) {
      count_fault("one-way");
      const auto other = (*victim + 1 + draw(nodes_.size() - 1)) % nodes_.size();
      cut({{*victim, other}});
    }
    break;
  case action::reset:
    if (f.reset) {
      count_fault("reset");
      net_.reset(*victim, (*victim + 1 + draw(nodes_.size() - 1)) % nodes_.size());
    }
    break;
  case action::isolate_leader:
    if (const auto leader = nodes_.leader(); f.isolate_leader && leader) {
      count_fault("isolate-leader");
      isolate(*leader);
    }
    break;
  case action::disk:
    disturb_disk();
    break;
  case action::disk_loss:
    if (f.disk_loss && may_lose_a_disk(*victim)) {
      nodes_.kill(*victim);
      lose_disk(*victim);
      start_later(*victim, some_time());
    }
    break;
  case action::membership:
    for (std::size_t i = swarm_.nodes; f.membership && i < swarm_.nodes + swarm_.spares; ++i)
      if (nodes_.life(i) == 0 && nodes_.state(i) == node_state::down) {
        count_fault("join");
        start_again(i);
      }
    break;
  case action::transfer:
    if (const auto leader = nodes_.leader(); f.transfer && leader) {
      const auto& voters = nodes_.view(*leader).config.voters;
      count_fault("transfer");
      caf::anon_send(nodes_.handles(*leader).raft_peer, actors::leadership_transfer{voters[draw(voters.size())]});
      // The old leader does not learn of the new one, or messages of the new one are lost.
      if (const auto whom = draw_action(cuts_in_transfer); whom != cut_in_transfer::no_node)
        later(milliseconds(draw(120)),
              [this, node = whom == cut_in_transfer::old_leader ? *leader : draw(nodes_.size())] {
                if (nodes_.running(node))
                  cut_off(node, true, true);
              });
    }
    break;
  case action::clock:
    disturb_clock(*victim);
    break;
  case action::reconfigure:
    if (f.reconfigure)
      change_members();
    break;
  case action::nothing:
  case action::count:
    break;
  }
}

void nemesis::isolate(std::size_t leader) {
  switch (draw_action(leader_isolations)) {
  case leader_isolation::cut_off:
    return cut_off(leader, true, true);
  case leader_isolation::unheard:
    return cut_off(leader, false, true);
  case leader_isolation::deaf:
    return cut_off(leader, true, false);
  case leader_isolation::outrun:
    return outrun(leader);
  case leader_isolation::outwait:
    return outwait(leader);
  case leader_isolation::oversleep:
    return oversleep(leader);
  }
}

void nemesis::stand_still(std::size_t node, virtual_time d, pause_of what) {
  nodes_.pause(node, what);
  time_.after(d, [this, node, life = nodes_.life(node)] {
    if (nodes_.life(node) == life && nodes_.state(node) == node_state::paused && !stay_down_.contains(node))
      nodes_.resume(node);
  });
}

virtual_time nemesis::election_timeout() const {
  return swarm_.peer.limits.tick * swarm_.peer.limits.election_ticks;
}

virtual_time nemesis::some_time() {
  constexpr milliseconds times[] = {milliseconds(300), milliseconds(60), milliseconds(900), milliseconds(2500),
                                    milliseconds(9000)};
  return times[draw(5)] + milliseconds(draw(100));
}

std::optional<std::size_t> nemesis::some_running() {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.running(i))
      candidates.push_back(i);
  if (candidates.empty())
    return std::nullopt;
  return candidates[draw(candidates.size())];
}

void nemesis::start_later(std::size_t node, virtual_time in) {
  time_.after(in, [this, node] {
    if (nodes_.state(node) == node_state::down && !stay_down_.contains(node))
      start_again(node);
  });
}

void nemesis::start_again(std::size_t node) {
  if (half_lost_.contains(node))
    return start_without_a_part(node);
  const auto started = nodes_.start(node);
  if (started) {
    damaged_.erase(node); // the whole disk was read, so the flipped bit does not matter
    return;
  }
  if (nodes_.disk(node).full()) // no room for the identity of a new server
    return start_later(node, seconds(1));
  if (damaged_.insert(node).second && !complaint_)
    complaint_ =
        "node " + std::to_string(node) + " does not start, although nothing has damaged its disk: " + started.error();
  // Replaces the disk, as operators do, once the others have all that the server may have promised.
  if (may_lose_a_disk(node)) {
    lose_disk(node);
    start_later(node, seconds(1));
  } else {
    start_later(node, seconds(2));
  }
}

void nemesis::on_node_gone(std::size_t node) {
  if (!stay_down_.contains(node))
    start_later(node, seconds(1));
}

// ---- disks

bool nemesis::may_lose_disks(const std::set<std::size_t>& nodes) const {
  const auto leader = nodes_.leader();
  if (!leader || nodes.contains(*leader))
    return false;
  const auto* core = nodes_.core(*leader);
  if (!raft::settled(*core))
    return false;
  const auto& config = core->config();
  if (const auto& l = config.learners;
      nodes.size() == 1 && std::find(l.begin(), l.end(), nodes_.id_of(*nodes.begin())) != l.end())
    return true; // counts for no quorum
  // All other members run and have everything committed: nothing depends on these disks alone.
  if (!only_replicas_learn(config))
    return false;
  for (const auto& m : config.members) {
    const auto at = nodes_.node_of(m.id);
    if (!at)
      return false; // an earlier loss is not repaired yet
    if (nodes.contains(*at))
      continue;
    if (nodes_.state(*at) == node_state::down)
      return false;
    const auto progress = core->progress();
    const auto found = std::find_if(progress.begin(), progress.end(), [&](const auto& p) { return p.id == m.id; });
    if (*at != *leader && (found == progress.end() || found->match < core->commit_index()))
      return false;
  }
  return true;
}

/// No other learner is about to get a vote.
bool nemesis::only_replicas_learn(const raft::configuration& c) const {
  return std::all_of(c.learners.begin(), c.learners.end(), [this](node_id id) {
    const auto at = nodes_.node_of(id);
    return at && nodes_.is_replica(*at);
  });
}

bool nemesis::may_damage_a_disk() const {
  const auto config = nodes_.configuration();
  return damaged_.empty() && stay_down_.empty() && config && config->voters.size() >= 3 &&
         std::all_of(config->members.begin(), config->members.end(),
                     [this](const raft::member& m) { return nodes_.node_of(m.id).has_value(); });
}

void nemesis::lose_disk(std::size_t node) {
  count_fault("disk-loss");
  damaged_.erase(node);
  half_lost_.erase(node);
  nodes_.wipe(node);
}

// The leader stays, because the others answer its heartbeats, but nothing that it writes is
// committed. No other fault happens meanwhile, because it would end its leadership and all waits.
void nemesis::fill_all_but(std::size_t leader) {
  // First the segments that they have begun must be full.
  const auto lasts = swarm_.peer.queue_timeout + seconds(12);
  next_fault_not_before_ = time_.now() + lasts;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i == leader || !nodes_.running(i))
      continue;
    auto& disk = nodes_.disk(i);
    disk.set_full(true);
    trace_.line(time_.now(), i, "disk is full");
    time_.after(lasts, [&disk] { disk.set_full(false); });
  }
}

void nemesis::disturb_disk() {
  const auto& f = swarm_.faults;
  const auto victim = some_running();
  if (!victim)
    return;
  auto& disk = nodes_.disk(*victim);
  std::vector<bool fault_set::*> possible;
  for (const auto fault : {&fault_set::disk_full, &fault_set::disk_stall, &fault_set::disk_error, &fault_set::bit_flip,
                           &fault_set::commit_damage})
    if (f.*fault)
      possible.push_back(fault);
  if (possible.empty())
    return;
  const auto fault = possible[draw(possible.size())];
  if (fault == &fault_set::disk_full) {
    count_fault("disk-full");
    if (const auto leader = nodes_.leader(); !swarm_.frozen && leader && draw(2) == 1)
      return fill_all_but(*leader);
    disk.set_full(true);
    trace_.line(time_.now(), *victim, "disk is full");
    time_.after(some_time(), [&disk] { disk.set_full(false); });
  } else if (fault == &fault_set::disk_stall) {
    count_fault("disk-stall");
    disk.stall_until(time_.now() + some_time());
    trace_.line(time_.now(), *victim, "disk hangs");
  } else if (fault == &fault_set::disk_error) {
    count_fault("disk-error");
    disk.fail_next(1 + draw(4));
    trace_.line(time_.now(), *victim, "disk is about to fail a call");
  } else if (fault == &fault_set::commit_damage) {
    count_fault("commit-damage");
    disk.checkpoints()->damage_next_commit(draw(1u << 20));
    trace_.line(time_.now(), *victim, "a bit of its next checkpoint is about to change");
  } else if (const auto leader = nodes_.leader(); leader && nodes_.size() == 3 && draw(3) != 0) {
    tempt_to_forget(*leader, forgetting::by_damage);
  } else if (may_damage_a_disk()) {
    count_fault("bit-flip");
    flip_bit(*victim, some_time());
  }
}

void nemesis::flip_bit(std::size_t node, virtual_time down) {
  nodes_.kill(node);
  nodes_.disk(node).flip_bit(tape_, detail_);
  damaged_.insert(node);
  if (auto* doors = nodes_.doors())
    doors->damaged(node);
  trace_.line(time_.now(), node, "a bit on its disk is flipped");
  start_later(node, down);
}

// For a while only the leader and one follower have what is committed. Then one of the two loses it
// (if it can), and the other cannot be reached.
void nemesis::tempt_to_forget(std::size_t leader, forgetting how) {
  if (nodes_.size() != 3)
    return;
  const auto follower = (leader + 1 + draw(2)) % 3;
  const auto lagging = 3 - leader - follower;
  const bool of_leader = how == forgetting::by_power && draw(2) == 1;
  const auto witness = of_leader ? leader : follower, other = of_leader ? follower : leader;
  cut_off(lagging, true, true);
  // If the disk hangs, it does not have what the server says it has.
  const auto hang = milliseconds(how == forgetting::by_power && draw(3) != 0 ? 20 + draw(100) : 0);
  const auto in = milliseconds(150 + draw(300));
  if (hang > hang.zero())
    later(in - hang, [this, witness, life = nodes_.life(witness), until = time_.now() + in + hang] {
      if (nodes_.life(witness) == life) {
        trace_.line(time_.now(), witness, "disk hangs");
        nodes_.disk(witness).stall_until(until);
      }
    });
  later(in, [this, how, witness, other, lagging] {
    if (!nodes_.running(witness) || !nodes_.running(other))
      return;
    if (how == forgetting::by_power) {
      count_fault("power");
      nodes_.disk(witness).stall_until(virtual_time::zero());
      nodes_.power_off(witness);
      start_later(witness, milliseconds(20));
    } else if (may_damage_a_disk()) {
      count_fault("bit-flip");
      flip_bit(witness, milliseconds(20));
    }
    cut_off(other, true, true, seconds(2)); // long enough for the two others to reach each other
    net_.mend(witness, lagging);
    net_.mend(lagging, witness);
  });
}

// ---- links and clocks

void nemesis::cut(directions what, virtual_time at_least) {
  for (const auto& [from, to] : what)
    net_.cut(from, to);
  time_.after(some_time() + at_least, [this, what = std::move(what)] {
    for (const auto& [from, to] : what)
      if (!stay_down_.contains(from) && !stay_down_.contains(to))
        net_.mend(from, to);
  });
}

void nemesis::cut_off(std::size_t node, bool inwards, bool outwards, virtual_time at_least) {
  directions all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i == node)
      continue;
    if (inwards)
      all.emplace_back(i, node);
    if (outwards)
      all.emplace_back(node, i);
  }
  trace_.line(time_.now(), node, "is cut off");
  cut(std::move(all), at_least);
}

void nemesis::split(std::uint64_t sides) {
  count_fault("partition");
  directions across;
  for (std::size_t a = 0; a < nodes_.size(); ++a)
    for (std::size_t b = 0; b < nodes_.size(); ++b)
      if ((sides >> a & 1) != (sides >> b & 1))
        across.emplace_back(a, b);
  trace_.line(time_.now(), no_node, "the network is split");
  const auto longest = swarm_.longest_partition;
  const bool lasts = longest > longest.zero() && draw(4) == 3;
  cut(std::move(across), lasts ? longest : shortest_cut);
}

void nemesis::disturb_clock(std::size_t node) {
  const auto& f = swarm_.faults;
  auto& clock = nodes_.clock(node);
  const auto fault = draw_action(clock_faults);
  if (fault == clock_fault::rate && (f.clock_rate || f.clock_wild)) {
    count_fault("clock-rate");
    // The stated bound is 10 % between any two clocks (raft::limits::clock_rate_error).
    const std::int64_t most = f.clock_wild ? 600'000 : 45'000;
    clock.set_rate(static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(2 * most))) - most);
    trace_.line(time_.now(), node, "clock runs " + std::to_string(clock.rate_ppm()) + " ppm fast");
  } else if (fault == clock_fault::jump && f.clock_jump && f.clock_wild) {
    count_fault("clock-jump");
    clock.jump(milliseconds(draw(5000)));
    trace_.line(time_.now(), node, "monotonic clock jumps ahead");
  } else if (fault == clock_fault::wall_set && f.clock_jump) {
    count_fault("wall-clock-set");
    clock.set_wall(static_cast<std::int64_t>(draw(120'000)) - 60'000);
    trace_.line(time_.now(), node, "wall clock is set");
  }
}

void nemesis::set_wall_clocks() {
  constexpr std::int64_t year_ms = 365LL * 24 * 3600 * 1000;
  constexpr std::int64_t offsets[] = {0, year_ms, -year_ms, 20'000, -20'000};
  if (!acting_)
    return;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto offset = offsets[tape_.choose(wall_clocks, std::size(offsets))];
    nodes_.clock(i).set_wall(offset);
    count_fault("clock-year");
    trace_.line(time_.now(), i, "wall clock is " + std::to_string(offset / 1000) + " s off");
  }
  time_.after(seconds(4 + static_cast<std::int64_t>(tape_.choose(wall_clocks, 12))), [this] { set_wall_clocks(); });
}

// ---- the end

/// Ends the faults. If it is certain that the others can make progress, some servers stay broken to
/// the end of the run: down, paused or cut off. @returns the servers that are healthy from now on
std::set<std::size_t> nemesis::heal() {
  acting_ = false;
  detail_ = {stream_kind::nemesis, UINT16_MAX};
  const auto config = nodes_.configuration();
  // Some nodes may stay broken only if the others are a majority of every set that counts.
  std::size_t spare = 0;
  const auto here = [this](const raft::member& m) { return nodes_.node_of(m.id).has_value(); };
  // A server that missed the change does not vote for an unknown member (docs/internals/pitfalls.md R28), so
  // servers that can inform it must remain.
  const auto knows_all = [&](const raft::member& m) {
    if (swarm_.frozen || !swarm_.faults.membership)
      return true;
    const auto at = nodes_.node_of(m.id);
    const auto* core = at ? nodes_.core(*at) : nullptr;
    return core != nullptr && core->config().voters == config->voters;
  };
  if (config && std::all_of(config->members.begin(), config->members.end(), here) &&
      std::all_of(config->members.begin(), config->members.end(), knows_all) && !swarm_.faults.reconfigure &&
      only_replicas_learn(*config) && config->voters.size() >= 3 && damaged_.empty() && !nodes_.acls_wait_for_all())
    spare = (config->voters.size() - 1) / 2;
  if (spare < stay_down_.size())
    stay_down_.clear();
  const auto broken = swarm_.faults.kill || swarm_.faults.partition || swarm_.faults.pause ? draw(spare + 1) : 0;
  if (const auto leader = nodes_.leader();
      leader && broken > stay_down_.size() && *leader < swarm_.nodes && draw(2) == 1)
    stay_down_.insert(*leader);
  while (stay_down_.size() < broken)
    stay_down_.insert(draw(swarm_.nodes));
  std::set<std::size_t> healed;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (!stay_down_.contains(i))
      healed.insert(i);
  const auto of_the_broken = [this](std::size_t a, std::size_t b) {
    return stay_down_.contains(a) || stay_down_.contains(b);
  };
  for (std::size_t a = 0; a < nodes_.size(); ++a)
    for (std::size_t b = 0; b < nodes_.size(); ++b)
      if (a != b && !of_the_broken(a, b))
        net_.mend(a, b);
  net_.forget_slowness();
  net_.faults.lost_per_million = net_.faults.duplicated_per_million = 0;
  net_.faults.reordered_per_million = net_.faults.delayed_per_million = 0;
  for (auto i : stay_down_) {
    if (nodes_.running(i)) {
      const auto fault = draw_action(lasting_faults);
      if (fault == lasting_fault::down)
        nodes_.kill(i);
      else if (fault == lasting_fault::paused)
        nodes_.pause(i);
      else
        for (std::size_t other = 0; other < nodes_.size(); ++other)
          if (other != i)
            fault == lasting_fault::unheard ? net_.cut(i, other) : net_.cut(other, i);
    }
    trace_.line(time_.now(), i, "stays broken");
  }
  for (auto i : healed) {
    mend_half_lost(i);
    nodes_.disk(i).set_full(false);
    nodes_.disk(i).stall_until(virtual_time::zero());
    nodes_.disk(i).stall_checkpoints_until(virtual_time::zero());
    nodes_.disk(i).fail_next(0);
    if (nodes_.state(i) == node_state::paused)
      nodes_.resume(i);
    else if (nodes_.state(i) == node_state::down && (i < swarm_.nodes || nodes_.is_replica(i) || nodes_.life(i) > 0))
      start_again(i);
  }
  return healed;
}

} // namespace belay::sim
