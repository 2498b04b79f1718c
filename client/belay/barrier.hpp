#pragma once
// A double barrier: a fixed number of participants begin together, and end together.
//
// Guarantees: enter() is done when all have entered, each with its own session that had not ended,
// at one moment; leave() when all have left, or their sessions have ended. Then the next round
// begins. Survives: participants that die or give up before the round is full (not counted) or die
// in it (the others wait for the end of their sessions at most), lost responses, elections.
// On failure: *refused* with reason deadline, stopped or session: it was not counted. *Unknown*: it
// was in the list, and others may have passed. If safe() is false, the others do not wait for it.
//
// A session takes part once at a time; its tasks take turns. All give the same number, or are
// refused with reason::invalid. Keys: NAME/.round, and one for each participant below NAME/.

#include <belay/lease.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// A participant that has passed. Out of scope it leaves, without waiting for the others.
class barrier_pass {
public:
  barrier_pass() = default;
  barrier_pass(lease h, std::uint64_t round) : lease_(std::move(h)), round_(round) {}

  /// Counts from 1. The same for all that passed together.
  std::uint64_t round() const noexcept { return round_; }
  /// Whether it is certain that the others still wait for this participant.
  bool safe() const { return lease_.safe(); }

private:
  friend class barrier;
  lease lease_;
  std::uint64_t round_ = 0;
};

class barrier {
public:
  /// One transaction checks all of them; its outcome must fit into 4 KiB (docs/reference/exactly-once.md).
  static constexpr std::size_t participants_max = 24;

  /// @param participants 1 to participants_max
  barrier(session& s, std::string name, std::size_t participants)
      : session_(s), name_(std::move(name)), participants_(participants) {}

  task<result<barrier_pass>> enter(deadline limit);
  /// @returns not done: its release failed, or others did not leave in time. It has left anyway
  task<status> leave(barrier_pass pass, deadline limit);

private:
  session& session_;
  std::string name_;
  std::size_t participants_;
};

} // namespace v0
} // namespace belay
