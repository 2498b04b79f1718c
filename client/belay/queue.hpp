#pragma once
// A queue of items, each of which is processed by one consumer at a time.
//
// Guarantees: an item whose put() succeeded stays until an ack() of it succeeds; at most one ack()
// of an item succeeds. While a taken item is safe() no other consumer has it. Items are taken in
// order, skipping those that are taken. Survives: consumers that die or return an item: the next
// one takes it, after the session's lock delay if the session ended; tries() counts. Producers that
// die; lost responses; elections. On failure: put() is *unknown* if a response was lost: the item
// may be there. ack() is *refused* with reason::session if the item is no longer held: another
// consumer may have it; *unknown*: it may be gone. take() is refused with reason deadline, stopped
// or session.
//
// Items are processed at least once: twice if a consumer dies before its ack(). An item is a key
// below NAME/. A take() reads all of them: use it for hundreds of items, not for millions.

#include <belay/keys.hpp>
#include <belay/lease.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

/// A taken item. It is returned to the queue when it goes out of scope without an ack().
class queue_item {
public:
  queue_item() = default;
  queue_item(lease h, entry e) : lease_(std::move(h)), entry_(std::move(e)) {}

  const std::string& value() const noexcept { return entry_.value; }
  /// How often it was taken, this time included.
  std::uint64_t tries() const noexcept { return entry_.flags; }
  const std::string& key() const noexcept { return entry_.key; }
  /// The fencing token, lease::fence(). It grows with every take of this item.
  std::uint64_t fence() const noexcept { return lease_.fence(); }
  bool safe() const { return lease_.safe(); }

private:
  friend class queue;
  lease lease_;
  entry entry_; ///< as it is while it is held
};

class queue {
public:
  queue(session& s, std::string name) : session_(s), name_(std::move(name)) {}

  /// @param value at most the server's limit for values, 512 KiB
  task<status> put(std::string value, deadline limit);
  task<result<queue_item>> take(deadline limit);
  /// The item is processed: no consumer gets it again.
  task<status> ack(queue_item item, deadline limit);
  /// Returns it: the next consumer can take it at once.
  task<status> give_back(queue_item item, deadline limit);
  /// The number of items, taken ones included.
  task<result<std::uint64_t>> size(deadline limit);

private:
  session& session_;
  std::string name_;
};

} // namespace v0
} // namespace belay
