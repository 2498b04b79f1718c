#pragma once
// A consumer group for the changes below a prefix: one member is active at a time, and each change
// is delivered until it is acknowledged.
//
// Guarantees: delivery at least once. Until the ack() of a change is done, next() delivers it
// again: after ack_wait, after a nack(), and to the next member when this one dies. At most one
// ack() of a change is done. The writes given to ack() are applied in the same transaction, so they
// take effect exactly once. Changes come in order, except redeliveries.
// Survives: members that die or are stopped at any point; lost responses; elections; a history that
// is gone, even because the cluster was restored or replaced (then a *snapshot* of the current keys
// is one delivery). On failure: ack() is *refused* with reason::session: this member is no longer
// active, another member has the change; *unknown*: it may be acknowledged, as a whole. next() is
// refused with reason deadline, stopped or session.
//
// A change that was delivered tries_max times is put to NAME/dead/CURSOR instead, and not delivered
// again; deliveries by members that died count. The group's keys are below NAME/: .lock, .state
// (the history of its cursors as its flags), dead/. NAME must not begin with the prefix. Members of
// 0.2.0 and of this version may be in one group.

#include <belay/changes.hpp>
#include <belay/lease.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {

class consumer_options {
public:
  consumer_options() = default;
  /// A change without an ack() is redelivered after this time.
  milliseconds ack_wait{30000};
  std::uint64_t tries_max = 5;
  /// Maximum of changes that are delivered and not acknowledged; 1 to 256.
  std::size_t unacknowledged_max = 64;
};

class delivery {
public:
  delivery() = default;
  /// One change, or all keys if it is a snapshot.
  std::vector<key_change> changes;
  bool is_snapshot = false;
  std::string cursor;
  std::uint64_t tries = 1; ///< this delivery included
};

class consumer {
public:
  /// Keys and their new values.
  using writes = std::vector<std::pair<std::string, std::string>>;

  /// A new group begins with a snapshot.
  consumer(session& s, std::string prefix, std::string name, consumer_options options = consumer_options());
  consumer(const consumer&) = delete;
  consumer& operator=(const consumer&) = delete;

  /// Waits until this member is active and a change is due. Only one task at a time may call it.
  task<result<delivery>> next(deadline limit);
  /// @param effect written together with the acknowledgement, or not at all: at most 20 keys
  task<status> ack(std::string cursor, deadline limit, writes effect = writes());
  /// Redelivers the change at once.
  void nack(const std::string& cursor);
  /// Lets the next member become active.
  task<status> leave(deadline limit);

  /// Whether this member gets changes.
  bool active() const { return lease_.safe(); }
  std::uint64_t fence() const noexcept { return lease_.fence(); }

private:
  /// A change that was fetched and is not acknowledged.
  struct fetched {
    delivery it;
    instant due{}; ///< when it is delivered, or redelivered
  };
  /// Orders the positions of cursors.
  struct in_order {
    bool operator()(const std::string& a, const std::string& b) const { return is_behind(b, a); }
  };

  task<status> become_active(deadline limit);
  task<status> await_turn(const session::ticket& mine, deadline limit);
  task<status> fetch(deadline wait, deadline limit);
  /// Writes the acknowledged and delivered changes and an ack's effect, if this member is active.
  task<status> keep_state(writes effect, deadline limit);
  task<status> finish(std::string cursor, writes effect, deadline limit);
  std::string state_text() const;
  bool read_state(const std::string& text);
  void give_up();

  session& session_;
  std::string prefix_;
  std::string name_;
  consumer_options options_;
  lease lease_;
  std::string session_id_;
  std::uint64_t index_ = 0;                           ///< index of NAME/.state
  std::uint64_t history_ = 0;                         ///< history of all positions here; 0: unknown
  std::string done_;                                  ///< everything up to this position is acknowledged
  std::map<std::string, bool, in_order> done_beyond_; ///< and these, too
  std::map<std::string, std::uint64_t, in_order> tries_;
  std::map<std::string, fetched, in_order> open_;
  std::shared_ptr<changes> source_; ///< while this member is active
  stop_source bell_;                ///< nack() stops it, and with it the wait of next()
};

} // namespace v0
} // namespace belay
