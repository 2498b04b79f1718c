#pragma once
// Clients that follow changes of keys as streams. They are cut anywhere, by faults and by themselves, and go on from their place at any node.

#include "sim/chance/tape.hpp"
#include "sim/checkers/changes/change_judge.hpp"
#include "sim/checkers/changes/floor_checker.hpp"
#include "sim/checkers/changes/history_checker.hpp"
#include "sim/record/event_reader.hpp"
#include "sim/world/cluster.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

class change_followers {
public:
  /// @param clocks_leap history_checker
  change_followers(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const kv_model& keys,
                   const floor_checker& floors, std::size_t count, bool clocks_leap);

  void start();
  void on_node_gone(std::size_t node);
  /// From now on they ask at these nodes only, and nobody leaves his stream of his own accord. May be called again.
  void stay_at(std::vector<std::size_t> nodes);

  /// @returns false: the client hangs up
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  /// The first that is wrong.
  const broken& complaint() const { return complaint_; }
  /// Who has not been sent everything up to there, and where; empty: nobody.
  std::string lacking(log_index i) const;

private:
  struct follower {
    change_judge judge;
    connection_id connection = 0; ///< zero: none
    std::size_t node = 0;
    std::uint64_t bytes_left = 0; ///< it hangs up when so many have come; zero: it does not
    std::string given = {};       ///< the cursor that was sent; empty: none
    event_reader stream = {};
  };

  void turn(std::size_t i);
  void leave(follower& f);
  bool may_ask(std::size_t node) const;
  void connect(std::size_t i, std::size_t node, std::uint64_t bytes_left);
  /// What it says that it has. @returns whether that is a cursor of another history
  bool choose_cursor(follower& f);

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  const kv_model& keys_;
  const floor_checker& floors_;
  history_checker histories_;
  std::deque<follower> followers_;
  std::optional<std::vector<std::size_t>> only_at_; ///< nullopt: anywhere, and they leave when they like
  connection_id connections_ = counted_from(connections_of::change_followers);
  broken complaint_;
};

} // namespace belay::sim
