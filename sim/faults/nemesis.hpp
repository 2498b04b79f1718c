#pragma once
// The nemesis of a run. Nodes, disks, links and clocks fail at random times and at critical moments
// (an election, a vote, a first snapshot). Most are repaired before the run requires progress.

#include "sim/chance/drawn_parts.hpp"
#include "sim/environment/cluster.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace belay::sim {

class nemesis {
public:
  nemesis(schedule& time, tape& choices, event_trace& trace, cluster& nodes, simulated_network& net, const swarm& s);

  /// Acts until stop().
  void start();
  /// No new faults. What is broken stays so until heal().
  void stop() { acting_ = false; }
  /// Repairs everything, except a few nodes that stay broken or break now; the others are always a
  /// majority. @returns the nodes that work again
  std::set<std::size_t> heal();

  /// Called when that node has become the leader.
  void on_led(std::size_t node);
  /// Called when that node requests votes.
  void on_campaign(std::size_t node);
  /// Called when that node is the first to know that a restore is committed.
  void on_restore(std::size_t node);
  /// Called when that node reads a part of its checkpoint for another one.
  void on_chunk_read(std::size_t node);
  /// Called when that node votes for another one, and writes the vote to its disk.
  void on_vote(std::size_t node);
  /// Called when that node has its first checkpoint although its log is empty: a snapshot was
  /// installed.
  void on_first_snapshot(std::size_t node);
  /// Called when that node has made a promise about the first configuration, and is about to send
  /// it.
  void on_promised(std::size_t node);
  /// Called when that node's data directory says for the first time that it belongs to a cluster.
  void on_joined(std::size_t node);
  /// A node ended itself: it is restarted after a while.
  void on_node_gone(std::size_t node);

  /// Called to keep the clients from beginning anything before then.
  std::function<void(virtual_time until)> keep_clients_quiet;

  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  /// A node that should have started and did not; nullopt: none.
  const std::optional<std::string>& complaint() const { return complaint_; }

private:
  void act();
  void start_again(std::size_t node);
  void start_later(std::size_t node, virtual_time in);
  void count_fault(const char* what) { ++counts_[what]; }
  std::uint64_t draw(std::uint64_t n) { return tape_.choose(detail_, n); }
  template <class Action, std::size_t N>
  Action draw_action(const share<Action> (&shares)[N]) {
    return action_of(shares, draw(numbers_of(shares)));
  }
  virtual_time some_time();
  virtual_time election_timeout() const;
  std::optional<std::size_t> some_running();
  bool may_lose_a_disk(std::size_t node) const { return may_lose_disks({node}); }
  bool may_lose_disks(const std::set<std::size_t>& nodes) const;
  bool only_replicas_learn(const raft::configuration& c) const;
  bool may_damage_a_disk() const;
  void isolate(std::size_t leader);
  void outrun(std::size_t leader);
  void outwait(std::size_t leader);
  void leave_behind(std::size_t leader);
  void receives_late(std::size_t leader);
  void lose_voter(std::size_t candidate);
  void oversleep(std::size_t leader);
  void change_members();
  void stand_still(std::size_t node, virtual_time d, pause_of what = pause_of::process);
  void begin_targeted_fault();
  void attack(std::size_t node);
  /// Runs as a part of the current action, unless the faults are over by then.
  void later(virtual_time in, std::function<void()> what);
  void lose_disk(std::size_t node);
  void power_off_soon(std::size_t node, virtual_time in);
  void flip_bit(std::size_t node, virtual_time down);
  enum class forgetting : std::uint8_t { by_power, by_damage };
  void tempt_to_forget(std::size_t leader, forgetting how);
  /// @param sides one bit for each node: nodes with the bit cannot receive from those without it
  void split(std::uint64_t sides);
  static constexpr virtual_time shortest_cut = std::chrono::milliseconds(400);
  using directions = std::vector<std::pair<std::size_t, std::size_t>>;
  void cut_off(std::size_t node, bool inwards, bool outwards, virtual_time at_least = shortest_cut);
  static directions both_ways(std::size_t a, std::size_t b) { return {{a, b}, {b, a}}; }
  /// Cuts each link from the first to the second node, until some time after `at_least`.
  void cut(directions what, virtual_time at_least = shortest_cut);
  void disturb_disk();
  void fill_all_but(std::size_t leader);
  // In nemesis_disks.cpp.
  void lose_parts();
  void lose_several(std::size_t first);
  void start_without_a_part(std::size_t node);
  void mend_half_lost(std::size_t node);
  // In nemesis_bootstrap.cpp.
  void disturb_bootstrap();
  void disturb_clock(std::size_t node);
  /// Sometimes suspends a machine, or stops it with all its clocks.
  void stop_machines();
  /// Sets some wall clocks a year off, and others later.
  void set_wall_clocks();

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  simulated_network& net_;
  swarm swarm_;
  stream detail_; ///< random numbers for the current action
  bool acting_ = false;
  virtual_time next_fault_not_before_{0};
  std::uint16_t rounds_ = 0;
  std::uint16_t targeted_faults_ = 0;
  std::set<std::size_t> damaged_;   ///< disks that are no longer usable
  std::set<std::size_t> half_lost_; ///< disks of which a part is not mounted
  std::set<std::size_t> stay_down_; ///< until the end of the run
  std::map<std::string, std::uint64_t> counts_;
  std::optional<std::string> complaint_;
};

} // namespace belay::sim
