#pragma once
// Clients that follow change streams. Faults and the clients break these, and they resume anywhere.

#include "sim/chance/tape.hpp"
#include "sim/checkers/changes/change_checker.hpp"
#include "sim/checkers/changes/floor_checker.hpp"
#include "sim/checkers/changes/history_checker.hpp"
#include "sim/environment/cluster.hpp"
#include "sim/record/event_reader.hpp"

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

class change_followers {
public:
  /// @param clocks_leap as in history_checker
  change_followers(schedule& time, tape& choices, event_trace& trace, cluster& nodes, const kv_model& keys,
                   const floor_checker& floors, std::size_t count, bool clocks_leap);

  void start();
  void on_node_gone(std::size_t node);
  /// From now on they use these nodes only, and do not leave their streams. May be called again.
  void stay_at(std::vector<std::size_t> nodes);

  /// @returns false: the client disconnects
  bool on_bytes(connection_id c, std::string_view bytes, bool last);
  /// The first wrong event.
  const broken& complaint() const { return complaint_; }
  /// The client that has not received everything up to there, and its node; empty: none.
  std::string lacking(log_index i) const;

private:
  struct follower {
    change_checker checker;
    connection_id connection = 0; ///< zero: none
    std::size_t node = 0;
    std::uint64_t bytes_left = 0; ///< it disconnects after that many bytes; zero: it does not
    std::string given = {};       ///< the cursor that was sent; empty: none
    event_reader stream = {};
  };

  void step(std::size_t i);
  void leave(follower& f);
  bool may_ask(std::size_t node) const;
  void connect(std::size_t i, std::size_t node, std::uint64_t bytes_left);
  /// Chooses the cursor to send. @returns whether it is a cursor of another history
  bool choose_cursor(follower& f);

  schedule& time_;
  tape& tape_;
  event_trace& trace_;
  cluster& nodes_;
  const kv_model& keys_;
  const floor_checker& floors_;
  history_checker histories_;
  std::deque<follower> followers_;
  std::optional<std::vector<std::size_t>> only_at_; ///< nullopt: anywhere, and they may leave
  connection_id connections_ = counted_from(connections_of::change_followers);
  broken complaint_;
};

} // namespace belay::sim
