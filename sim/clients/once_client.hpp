#pragma once
// A simulated client that writes with idempotency keys (docs/reference/exactly-once.md). It repeats answered
// and unanswered writes through other servers, cancels outcomes before or after the write, reuses a
// key for another write, and reads outcomes. Under a session of its own it locks keys and shows
// locked ones in such writes, so that stored responses have rows with sessions and fencing tokens.

#include "sim/record/history.hpp"
#include "sim/record/long_ago.hpp"

#include <deque>
#include <optional>
#include <string>
#include <variant>

namespace belay::sim {

/// Chooses the next request, and learns from the response. One at a time.
class once_client {
public:
  using request = std::variant<state::command, http::read_request>;

  explicit once_client(std::size_t number) : number_(number) {}

  /// @param drawn decides, as in `workload`
  /// @param fresh a number that no command had before
  request next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now);
  void learn(const operation& o);

private:
  /// nullopt: its node and session exist.
  std::optional<state::command> prepare(std::uint64_t fresh);
  /// A transaction with locked keys. @pre a session
  state::plain_command with_locks(std::uint64_t drawn, std::uint64_t fresh) const;
  state::plain_command some_write(std::uint64_t drawn, std::uint64_t fresh) const;
  state::command new_write(std::uint64_t drawn, std::uint64_t fresh);
  /// One of the last few, most often the newest; sometimes one whose outcome is forgotten.
  const state::command& sent(std::uint64_t drawn) const;

  std::size_t number_;
  std::uint64_t keys_ = 0;
  std::deque<state::command> sent_;
  long_ago<state::command> long_ago_;
  virtual_time now_{0};
  log_index seen_at_; ///< index of the key that is written by check-and-set
  bool node_known_ = false, creating_ = false;
  std::string session_; ///< empty: it has none
  std::uint64_t sessions_ = 0;
};

} // namespace belay::sim
