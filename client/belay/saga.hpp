#pragma once
// A saga: several steps under a lock, either all done or all undone in the end.
//
// Guarantees: begin() holds the lock NAME/.lock and has undone what an earlier saga left. Each
// step is recorded before it is done. After a commit() that is done, nothing of the saga is ever
// undone. If it is refused, or the saga ends without one, the next begin() or recover() of any
// process undoes each recorded step, last first. An undo is called until it is done.
// Survives: a process that dies, or is stopped, at any point; a session that is lost half way; an
// undo that fails or is interrupted (the next holder continues it).
// On failure: *refused* with reason::session: the lock is lost. Do nothing more: another process
// undoes what was recorded. After an *unknown* commit() the next begin() or recover() decides.
//
// Send fence() with steps and undos, and keep a fencing_token_checker with the resource, or a late
// step could come after its undo. An undo may be called for a step that was never done, or twice:
// let the resource remember saga and number. On Belay session_options::on_end can notify others.
//
// The record is in the key NAME/.intent. It has at most 512 KiB, the data of all steps included.

#include <belay/lease.hpp>
#include <belay/mutex.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

/// A step that was recorded, and may have been done.
class saga_step {
public:
  std::string saga_id; ///< the name given to begin()
  std::uint64_t number = 0;
  std::string what;
  std::string data;
  std::uint64_t fence = 0; ///< fencing token of the process that undoes it
};

class saga {
public:
  using undo = std::function<task<status>(saga_step)>;

  /// @param how undoes a step; if it is not done, the next begin() tries it again
  saga(session& s, const std::string& name, undo how);
  saga(const saga&) = delete;
  saga& operator=(const saga&) = delete;

  /// Waits for the lock, undoes what was left, and records that this saga begins. @pre none has
  /// begun
  task<status> begin(std::string id, deadline limit);
  /// Records a step. Do the step only if this is done, with the fencing token, and while safe().
  task<status> step(std::string what, std::string data, deadline limit);
  /// All steps were done: they stay. Releases the lock.
  task<status> commit(deadline limit);
  /// Undoes the steps of this saga, and releases the lock.
  task<status> roll_back(deadline limit);
  /// Acquires the lock, undoes what was left, and releases it. @returns how many steps were undone
  task<result<std::uint64_t>> recover(deadline limit);
  /// Releases the lock; the next begin() undoes what was recorded.
  void drop() noexcept;

  std::uint64_t fence() const noexcept { return lease_.fence(); }
  bool safe() const { return lease_.safe(); }

private:
  class intent;
  task<status> take(deadline limit);
  task<status> write(std::string text, deadline limit);
  task<result<std::uint64_t>> undo_left(deadline limit);

  session& session_;
  std::string lock_key_;
  std::string intent_key_;
  undo undo_;
  lease lease_;
  std::string session_id_;
  std::uint64_t index_ = 0; ///< index of NAME/.intent
  std::vector<saga_step> steps_;
  std::string id_;
};

} // namespace v0
} // namespace belay
