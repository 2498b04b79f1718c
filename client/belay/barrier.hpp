#pragma once
// A double barrier: so many begin together, and end together.
//
// Promise: enter() is done when that many have entered, each with a session of its own that had not ended, all at one moment;
// leave() when all of them have left, or their sessions have ended. Then the next round begins.
// Survives: participants that die or give up before the round is full (they do not count), those that die in it (nobody waits
// for them longer than for the end of their sessions), lost answers, elections.
// When it cannot: *refused* with reason deadline, stopped or session: it was not counted. *unknown*: it gave up when it was in
// the list, and others may have passed with it. Who passed and lost the session is told by safe(): the others do not wait.
//
// A session takes part once at a time; several tasks of one take turns. All have to name the same number: another one is
// refused with reason::invalid. It keeps the key NAME/.round, and one for each participant below NAME/, on Belay and on Consul.

#include <belay/hold.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// Of one who has passed. Out of scope it leaves without waiting for the others.
class barrier_pass {
public:
  barrier_pass() = default;
  barrier_pass(hold h, std::uint64_t round) : held_(std::move(h)), round_(round) {}

  /// Counts from 1. All who passed together have the same.
  std::uint64_t round() const noexcept { return round_; }
  /// Whether it is certain that the others still wait for this one.
  bool safe() const { return held_.safe(); }

private:
  friend class barrier;
  hold held_;
  std::uint64_t round_ = 0;
};

class barrier {
public:
  /// A transaction looks at all of them, and its outcome is kept (docs/exactly-once.md, 4 KiB).
  static constexpr std::size_t participants_max = 24;

  /// @param participants 1 to participants_max
  barrier(session& s, std::string name, std::size_t participants)
      : session_(s), name_(std::move(name)), participants_(participants) {}

  task<result<barrier_pass>> enter(patience limit);
  /// @returns not done if it was not told that this one has left, or the time was over before the others had; it has left
  task<status> leave(barrier_pass pass, patience limit);

private:
  session& session_;
  std::string name_;
  std::size_t participants_;
};

} // namespace v0
} // namespace belay
