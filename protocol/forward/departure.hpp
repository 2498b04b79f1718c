#pragma once
// How a server leaves its cluster while it runs: it hands leadership over if it has it, and then asks the leader to take it out of the
// configuration. It never leaves others behind who could not decide anything.

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::forward {

/// Why that server must not be taken out: with `heard` alone, those who stay would have no majority. nullopt: it may.
/// @param heard the servers that answer; whether `leaver` is among them does not matter
std::optional<std::string> too_few_without(const raft::configuration& now, node_id leaver,
                                           const std::vector<node_id>& heard);

class departure {
public:
  using time = std::chrono::nanoseconds;

  /// Another server shall lead; look again later.
  struct hand_over {
    node_id to;
  };
  /// Ask the leader with forward::let_leave, and call answered() with what it says.
  struct ask_leader {};
  /// Look again later.
  struct wait {};
  /// It is over. ok: this server belongs to no cluster, or is all of it.
  struct over {
    status how;
  };
  using step = std::variant<hand_over, ask_leader, wait, over>;

  /// What a server knows of its cluster.
  struct place {
    node_id self;
    node_id leader;      ///< zero: unknown
    bool serves = false; ///< it leads, and its term has a committed entry
    const raft::configuration& config;
    const std::vector<node_id>& heard; ///< by the leader; of no meaning to others
  };
  step next(const place& here, time now);
  void answered(status how) { answer_ = std::move(how); }

private:
  // A hand-over takes two round trips and a write; after that the next candidate is tried.
  static constexpr std::chrono::milliseconds hand_over_limit{1500};
  // A leader that was just elected has not heard all of its followers yet.
  static constexpr std::chrono::milliseconds patience{1500};
  // Candidates may be leaving, too; then the leader takes itself out, which costs an election.
  static constexpr std::size_t hand_overs_max = 2;

  std::optional<time> begun_;
  std::size_t hand_overs_ = 0;
  time next_hand_over_{0};
  bool asked_ = false;
  std::optional<status> answer_;
};

} // namespace belay::forward
