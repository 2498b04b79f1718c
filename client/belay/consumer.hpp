#pragma once
// Changes below a prefix, worked through by a group: one member at a time, each change until it is
// acknowledged.
//
// Promise: at least once: next() brings each change until its ack() is done, again when it was not
// acknowledged within ack_wait, after a nack(), and to the next member when this one dies. Of the
// acks of a change at most one is done, and what was given to it to be written is written in the
// same step: the effect on those keys is there once. Changes come in order, but for those that come
// again. Survives: members that die or are stopped at any place; lost answers; elections; a history
// that is gone, also because the cluster was restored or replaced (then a *snapshot* comes, with
// the keys as they are, as one delivery). When it cannot: ack() is *refused* with reason::session:
// this member is not the group's any more, somebody else has the change; *unknown*: it may be
// acknowledged, as a whole. next() is refused with reason deadline, stopped or session.
//
// A change that was delivered tries_max times is put to NAME/dead/PLACE instead, and not delivered
// again; deliveries by members that died count. The group's keys are below NAME/: .lock, .state
// (with the history of its places as its flags), dead/. NAME must not begin with the prefix.
// Members of 0.2.0 and of this version may be in one group.

#include <belay/changes.hpp>
#include <belay/hold.hpp>

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
  /// After that without an ack() a change is delivered again.
  milliseconds ack_wait{30000};
  std::uint64_t tries_max = 5;
  /// So many are delivered and not acknowledged at most; 1 to 256.
  std::size_t unacknowledged_max = 64;
};

class delivery {
public:
  delivery() = default;
  /// One; or all keys if it is a snapshot.
  std::vector<key_change> changes;
  bool is_snapshot = false;
  std::string place;
  std::uint64_t tries = 1; ///< this one among them
};

class consumer {
public:
  /// Keys and what to write there.
  using writes = std::vector<std::pair<std::string, std::string>>;

  /// A group that is new begins with a snapshot.
  consumer(session& s, std::string prefix, std::string name, consumer_options options = consumer_options());
  consumer(const consumer&) = delete;
  consumer& operator=(const consumer&) = delete;

  /// Waits until this member is the group's, and there is something to be delivered. One task at a time.
  task<result<delivery>> next(patience limit);
  /// @param effect written together with the acknowledgement, or not at all: at most 20 keys
  task<status> ack(std::string place, patience limit, writes effect = writes());
  /// It is delivered again at once.
  void nack(const std::string& place);
  /// Lets the next member go on.
  task<status> leave(patience limit);

  /// Whether this is the member that gets changes.
  bool active() const { return held_.safe(); }
  std::uint64_t fence() const noexcept { return held_.fence(); }

private:
  /// What was fetched and is not acknowledged.
  struct fetched {
    delivery it;
    instant due{}; ///< when it is delivered, or delivered again
  };
  /// Positions in their order.
  struct in_order {
    bool operator()(const std::string& a, const std::string& b) const { return is_behind(b, a); }
  };

  task<status> become_active(patience limit);
  task<status> fetch(patience limit);
  /// Writes what is done and delivered, and the effect of an ack, if this member still is the group's.
  task<status> keep_state(writes effect, patience limit);
  task<status> finish(std::string place, writes effect, patience limit);
  std::string state_text() const;
  bool read_state(const std::string& text);
  void give_up();

  session& session_;
  std::string prefix_;
  std::string name_;
  consumer_options options_;
  hold held_;
  std::string session_id_;
  std::uint64_t index_ = 0;                           ///< of NAME/.state
  std::uint64_t history_ = 0;                         ///< of all positions here; 0: it is not known
  std::string done_;                                  ///< everything up to there is
  std::map<std::string, bool, in_order> done_beyond_; ///< and these
  std::map<std::string, std::uint64_t, in_order> tries_;
  std::map<std::string, fetched, in_order> open_;
  std::shared_ptr<changes> source_; ///< while this member is the group's
  stopper bell_;                    ///< of nack()
};

} // namespace v0
} // namespace belay
