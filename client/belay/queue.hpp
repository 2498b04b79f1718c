#pragma once
// Items that many put, and each of which one of many takes.
//
// Promise: an item whose put() is done is there until somebody's ack() is done; at most one ack() of an item is done. While a
// taken item is safe() nobody else has it. Items are taken in the order in which they were put, as far as those before them
// are taken.
// Survives: consumers that die or give an item back: it is taken again, by the next one, after the session's lock delay if the
// session ended; tries() counts. Producers that die; lost answers; elections.
// When it cannot: put() is *unknown* if an answer was lost and nobody could be asked what became of it: the item may be there.
// ack() is *refused* with reason::session if the item is not held any more: somebody else may have it; *unknown*: it may be
// gone. take() is refused with reason deadline, stopped or session.
//
// What is done with an item may be done twice by consumers that die before their ack(): at least once. An item is a key below
// NAME/. A take reads all of them: it is for hundreds, not for millions.

#include <belay/hold.hpp>
#include <belay/keys.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// It goes back when it goes out of scope without an ack().
class queue_item {
public:
  queue_item() = default;
  queue_item(hold h, entry e) : held_(std::move(h)), entry_(std::move(e)) {}

  const std::string& value() const noexcept { return entry_.value; }
  /// How many have taken it, this one among them.
  std::uint64_t tries() const noexcept { return entry_.flags; }
  const std::string& key() const noexcept { return entry_.key; }
  /// Grows with every take of this item: hold::fence().
  std::uint64_t fence() const noexcept { return held_.fence(); }
  bool safe() const { return held_.safe(); }

private:
  friend class queue;
  hold held_;
  entry entry_; ///< as it is while it is held
};

class queue {
public:
  queue(session& s, std::string name) : session_(s), name_(std::move(name)) {}

  /// @param value at most what the server takes as a value, 512 KiB
  task<status> put(std::string value, patience limit);
  task<result<queue_item>> take(patience limit);
  /// It is done with: nobody gets it again.
  task<status> ack(queue_item item, patience limit);
  /// The next one may have it at once.
  task<status> give_back(queue_item item, patience limit);
  /// How many there are, taken ones among them.
  task<result<std::uint64_t>> size(patience limit);

private:
  session& session_;
  std::string name_;
};

} // namespace v0
} // namespace belay
