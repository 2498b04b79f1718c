#pragma once
// Several steps under a lock, of which all are done in the end or none: what was begun and not ended is undone.
//
// Promise: begin() holds the lock NAME/.lock and has undone what an earlier section left. Each step is noted before it is done.
// After a commit() that is done nothing of the section is ever undone; after one that is refused, and after everything else
// that ends a section without one, each noted step is undone, last one first, by the next begin() or recover() of anybody.
// Each step's undo is called until it is done; of its successes one is noted.
// Survives: a process that dies, or is stopped, at any place; a session that is lost half way; an undo that fails or is
// interrupted (the next holder goes on with it).
// When it cannot: *refused* with reason::session: the lock is lost, do nothing more, somebody undoes what was noted. A commit()
// that is *unknown* may have come: the next begin() or recover() decides.
//
// Steps and undos are guarded by the fence, or a late step could come behind its undo: send fence() along, keep a fence_gate
// beside the resource. An undo may be called for a step that was never done, and twice for one: let the resource remember
// section and number. On Belay session_options::on_end can leave a note for those who recover.
//
// The intent is in the key NAME/.intent. It has at most 512 KiB, with the data of all steps.

#include <belay/hold.hpp>
#include <belay/mutex.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

/// A step that was noted, and may have been done.
class noted_step {
public:
  std::string section; ///< as it was named to begin()
  std::uint64_t number = 0;
  std::string what;
  std::string data;
  std::uint64_t fence = 0; ///< of who undoes it
};

class compensated_section {
public:
  using undo = std::function<task<status>(noted_step)>;

  /// @param how undoes a step; not done: it is tried again by the next who begins
  compensated_section(session& s, const std::string& name, undo how);
  compensated_section(const compensated_section&) = delete;
  compensated_section& operator=(const compensated_section&) = delete;

  /// Waits for the lock, undoes what was left, and notes that this section begins. @pre none is begun
  /// @param section a name that no other section has, such as an order's number
  task<status> begin(std::string section, patience limit);
  /// Notes a step. Only if it is done may the step be done: with the fence, and while safe().
  task<status> step(std::string what, std::string data, patience limit);
  /// All steps were done: they stay. The lock is given back.
  task<status> commit(patience limit);
  /// Undoes the own steps, and gives the lock back.
  task<status> roll_back(patience limit);
  /// Takes the lock, undoes what was left, and gives it back. @returns how many steps were undone
  task<result<std::uint64_t>> recover(patience limit);
  /// Gives the lock back; what was noted is undone by the next who begins.
  void drop() noexcept;

  std::uint64_t fence() const noexcept { return held_.fence(); }
  bool safe() const { return held_.safe(); }

private:
  class intent;
  task<status> take(patience limit);
  task<status> write(std::string text, patience limit);
  task<result<std::uint64_t>> undo_left(patience limit);

  session& session_;
  std::string lock_key_;
  std::string intent_key_;
  undo undo_;
  hold held_;
  std::string session_id_;
  std::uint64_t index_ = 0; ///< of the intent
  std::vector<noted_step> steps_;
  std::string section_;
};

} // namespace v0
} // namespace belay
