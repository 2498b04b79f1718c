// Faults of the nemesis at critical moments: an election, a vote, a restore, a snapshot.

#include "sim/faults/nemesis.hpp"

#include <caf/send.hpp>

namespace belay::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr stream checkpoint_reads{stream_kind::nemesis, 0x7FFF};

/// Faults when an election begins.
enum class against_campaign : std::uint8_t {
  nothing,
  deafen_leader, ///< the current leader does not receive it
  split_rivals,  ///< another one must request the same votes, in the same term
  lose_voter,
};
constexpr share<against_campaign> against_campaigns[] = {
    {against_campaign::nothing, 1},    {against_campaign::deafen_leader, 1}, {against_campaign::split_rivals, 1},
    {against_campaign::lose_voter, 1}, {against_campaign::nothing, 1},
};

/// Faults of a node that has just become the leader.
enum class against_leader : std::uint8_t {
  kill,
  power_off,
  cut_off,
  deafen,
  oversleep,
  tempt_to_forget,
  outwait,
  outwait_after_silence, ///< all have what it has, and nothing newer
  receives_late,
  leave_behind,
  outrun,
};
constexpr share<against_leader> against_leaders[] = {
    {against_leader::kill, 1},          {against_leader::power_off, 1},
    {against_leader::cut_off, 1},       {against_leader::deafen, 1},
    {against_leader::oversleep, 1},     {against_leader::tempt_to_forget, 1},
    {against_leader::outwait, 1},       {against_leader::outwait_after_silence, 1},
    {against_leader::receives_late, 1}, {against_leader::leave_behind, 1},
    {against_leader::outrun, 2},
};

} // namespace

void nemesis::begin_targeted_fault() {
  ++targeted_faults_;
  detail_ = {stream_kind::nemesis, static_cast<std::uint16_t>(0x8000 | targeted_faults_)};
}

void nemesis::later(virtual_time in, std::function<void()> what) {
  time_.after(in, [this, what = std::move(what), detail = detail_] {
    if (!acting_)
      return;
    detail_ = detail;
    what();
  });
}

void nemesis::on_led(std::size_t node) {
  if (!acting_ || !swarm_.faults.targeted_at_leader)
    return;
  begin_targeted_fault();
  if (draw(3) == 0)
    return;
  const auto in = milliseconds(draw(2) == 0 ? draw(10) : draw(400));
  later(in, [this, node, life = nodes_.life(node)] {
    if (nodes_.life(node) == life && nodes_.running(node))
      attack(node);
  });
}

void nemesis::on_campaign(std::size_t node) {
  if (!acting_ || !swarm_.faults.targeted_at_leader)
    return;
  begin_targeted_fault();
  switch (draw_action(against_campaigns)) {
  case against_campaign::deafen_leader:
    if (const auto leader = nodes_.leader(); leader && *leader != node) {
      count_fault("deaf-leader");
      cut_off(*leader, true, true);
    }
    break;
  case against_campaign::split_rivals: {
    count_fault("rival");
    const auto rival = (node + 1 + draw(nodes_.size() - 1)) % nodes_.size();
    cut(both_ways(node, rival), seconds(1));
    break;
  }
  case against_campaign::lose_voter:
    lose_voter(node);
    break;
  case against_campaign::nothing:
    break;
  }
}

// Three servers: the old leader is cut off, and the candidate reaches only one voter. That voter
// is lost for the rest of the run. The candidate and the old leader must then elect one of them,
// whichever has the longer log or the later term.
void nemesis::lose_voter(std::size_t candidate) {
  if (!swarm_.faults.kill || swarm_.faults.reconfigure || nodes_.size() != 3 || !stay_down_.empty() ||
      !damaged_.empty())
    return;
  std::vector<std::size_t> voters;
  for (std::size_t i = 0; i < 3; ++i)
    if (i != candidate && nodes_.running(i) && !net_.is_cut(i, candidate) && !net_.is_cut(candidate, i))
      voters.push_back(i);
  if (voters.size() != 1)
    return;
  count_fault("voter-loss");
  stay_down_.insert(voters.front());
  time_.after(virtual_time::zero(), [this, voter = voters.front()] {
    if (nodes_.running(voter))
      nodes_.kill(voter);
  });
}

void nemesis::on_vote(std::size_t node) {
  if (!acting_ || !swarm_.faults.targeted_at_leader || !swarm_.faults.power)
    return;
  begin_targeted_fault();
  if (draw(4) == 3) // before or after it is on the disk
    power_off_soon(node,
                   std::chrono::microseconds(draw(300)) + swarm_.disk_latency * static_cast<std::int64_t>(draw(3)));
}

// A node that is cut off meanwhile gets the restore only in a checkpoint.
void nemesis::on_restore(std::size_t node) {
  if (!acting_ || !(swarm_.faults.partition || swarm_.faults.isolate_leader))
    return;
  begin_targeted_fault();
  if (draw(3) == 0)
    return;
  const auto other = (node + 1 + draw(nodes_.size() - 1)) % nodes_.size();
  if (draw(2) == 0)
    return cut_off(other, true, true);
  // The checkpoint brings what was restored and nothing newer.
  const auto quiet = swarm_.machine.checkpoints.interval + seconds(1);
  if (quiet < seconds(10)) {
    keep_clients_quiet(time_.now() + quiet + seconds(3));
    cut_off(other, true, true, quiet);
  }
}

void nemesis::on_chunk_read(std::size_t node) {
  if (!acting_ || !swarm_.faults.disk_stall || !tape_.chance(checkpoint_reads, 30'000))
    return;
  begin_targeted_fault();
  count_fault("checkpoint-stall");
  nodes_.disk(node).stall_checkpoints_until(time_.now() + some_time());
  trace_.line(time_.now(), node, "disk hangs where the checkpoint is");
}

void nemesis::on_first_snapshot(std::size_t node) {
  if (!acting_ || !swarm_.faults.power)
    return;
  begin_targeted_fault();
  if (draw(3) == 2)
    power_off_soon(node, std::chrono::microseconds(draw(2'000)));
}

void nemesis::power_off_soon(std::size_t node, virtual_time in) {
  count_fault("power");
  later(in, [this, node, life = nodes_.life(node)] {
    if (nodes_.life(node) != life || nodes_.state(node) == node_state::down)
      return;
    nodes_.power_off(node);
    start_later(node, milliseconds(20 + draw(300)));
  });
}

void nemesis::attack(std::size_t node) {
  count_fault("leader-hunt");
  switch (draw_action(against_leaders)) {
  case against_leader::kill:
    nodes_.kill(node);
    start_later(node, milliseconds(20 + draw(200)));
    break;
  case against_leader::power_off:
    nodes_.power_off(node);
    start_later(node, some_time());
    break;
  case against_leader::cut_off:
    cut_off(node, true, true);
    break;
  case against_leader::deafen:
    cut_off(node, true, false);
    break;
  case against_leader::oversleep:
    oversleep(node);
    break;
  case against_leader::tempt_to_forget:
    tempt_to_forget(node, forgetting::by_power);
    break;
  case against_leader::outwait:
    outwait(node);
    break;
  case against_leader::outwait_after_silence:
    keep_clients_quiet(time_.now() + 4 * election_timeout());
    later(milliseconds(100), [this, node] { outwait(node); });
    break;
  case against_leader::receives_late:
    receives_late(node);
    break;
  case against_leader::leave_behind:
    leave_behind(node);
    break;
  case against_leader::outrun:
    outrun(node);
    break;
  }
}

// The leader pauses while it is cut off. When it resumes, it does not know yet that the others have
// elected another leader.
void nemesis::oversleep(std::size_t leader) {
  cut_off(leader, true, true, seconds(3));
  stand_still(leader, milliseconds(300 + draw(2000)));
}

// Mostly the leader's machine: the others may have replaced it when it resumes.
void nemesis::stop_machines() {
  if (!acting_)
    return;
  begin_targeted_fault();
  time_.after(milliseconds(1200 + 400 * draw(8)), [this] { stop_machines(); });
  if (draw(3) == 0 || swarm_.rests_at(time_.now()))
    return;
  const auto leader = nodes_.leader();
  const auto victim = leader && draw(4) != 3 ? leader : some_running();
  if (!victim)
    return;
  const auto& f = swarm_.faults;
  const bool all_clocks = f.machine_stop && (!f.suspend || draw(2) == 1);
  count_fault(all_clocks ? "machine-stop" : "suspend");
  const auto how_long = election_timeout() * static_cast<std::int64_t>(300 + draw(5000)) / 1000;
  // What the others have sent meanwhile would inform it at once that it is no longer the leader.
  if (swarm_.beginning != beginning::beside_others && draw(3) != 0)
    cut_off(*victim, true, true, how_long + election_timeout());
  stand_still(*victim, how_long, all_clocks ? pause_of::machine : pause_of::suspended);
}

// Messages of the leader are lost, and it pauses. Earlier responses to it have arrived when it
// resumes.
void nemesis::leave_behind(std::size_t leader) {
  cut_off(leader, false, true, seconds(3));
  stand_still(leader, election_timeout() * static_cast<std::int64_t>(100 + draw(1500)) / 1000);
}

// Everything reaches the leader later and later. Finally its messages are lost, while late
// responses of followers that have elected another leader still confirm it.
void nemesis::receives_late(std::size_t leader) {
  const auto step = election_timeout() * 4 / 10; // less than the silence timeout
  const auto steps = static_cast<std::int64_t>(1 + draw(6));
  const auto slow_down = [this, leader](virtual_time extra) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (i != leader)
        net_.slow_down(i, leader, extra);
  };
  for (std::int64_t k = 1; k <= steps; ++k)
    later(step * (k - 1), [slow_down, extra = step * k] { slow_down(extra); });
  later(step * steps + milliseconds(draw(300)), [this, leader, slow_down] {
    cut_off(leader, false, true, seconds(2));
    later(seconds(2), [slow_down] { slow_down(virtual_time::zero()); });
  });
}

// The leader is cut off, and the others notice at once. One of them has just restarted, so it does
// not remember a leader.
void nemesis::outrun(std::size_t leader) {
  cut_off(leader, true, true);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (i != leader)
      net_.reset(leader, i);
  if (const auto other = some_running(); other && *other != leader) {
    nodes_.kill(*other);
    start_later(*other, milliseconds(1 + draw(40)));
  }
}

// Half of the followers no longer receive the leader's messages, while the others keep its lease
// alive. When the former are about to campaign, the latter have just restarted and do not remember
// a leader.
void nemesis::outwait(std::size_t leader) {
  std::vector<std::size_t> others;
  directions silent;
  for (std::size_t k = 1; k < nodes_.size(); ++k) {
    const auto i = (leader + k) % nodes_.size();
    if (k > nodes_.size() / 2) {
      others.push_back(i);
      continue;
    }
    silent.insert(silent.end(), {{leader, i}, {i, leader}});
  }
  cut(std::move(silent));
  later(election_timeout() * static_cast<std::int64_t>(500 + draw(2500)) / 1000, [this, leader, others] {
    cut_off(leader, true, true);
    for (const auto i : others)
      if (nodes_.running(i)) {
        nodes_.kill(i);
        start_later(i, milliseconds(1 + draw(40)));
      }
  });
}

void nemesis::change_members() {
  const auto leader = nodes_.leader();
  if (!leader)
    return;
  std::vector<raft::member> chosen;
  std::uint64_t side = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_.life(i) > 0 && !nodes_.is_replica(i) && draw(3) != 0) {
      chosen.push_back(nodes_.member(i));
      side |= std::uint64_t{1} << i;
    }
  if (chosen.size() < (swarm_.beginning == beginning::down_to_one ? 1 : 2))
    return;
  count_fault("reconfigure");
  trace_.line(time_.now(), *leader, "is asked to change the members to " + std::to_string(chosen.size()) + " servers");
  caf::anon_send(nodes_.handles(*leader).raft_peer,
                 actors::change_members{raft::configuration_of_voters(std::move(chosen))});
  if (draw(4) == 3)
    later(milliseconds(draw(700)), [this, node = *leader, life = nodes_.life(*leader)] {
      if (nodes_.life(node) == life && nodes_.serving(node))
        outwait(node);
    });
  if (draw(2) == 1) // those that stay and those that leave cannot reach each other
    later(std::chrono::microseconds(draw(6'000)), [this, side] { split(side); });
}

} // namespace belay::sim
