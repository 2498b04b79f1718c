#pragma once
// A copy of the keys below a prefix, on another server or cluster.
//
// Promise: a key of the copy is what the original was at some index, and never goes back to an
// older one, however many mirrors write it and however late their writes come: each is conditional
// on the index of the original that the copy has, never on a wall time. Once the original stands
// still, and a mirror runs, the copy is equal, but for left_out(). An original that was restored,
// or is another cluster in its place, has another history: its indexes say nothing about the ones
// that the copy has noted. Then everything is copied again, whatever was noted. Survives: lost
// answers, mirrors that die between any two steps, both clusters away for a while, a history that
// is gone (then it compares everything), the other cluster's leader changes. When it cannot: step()
// is *refused* with the reason of what did not answer; what was copied stays, and the next step
// goes on where it is known to have come to. *Refused* with reason::held: another mirror of that
// name copies an original with another history. Keys that the copy's server does not take are left
// out, and the others go on; NAME/place stays where it was until there are none.
//
// Of each key the copy notes the index of the original, below NAME/at/, also of erased ones; and
// how far it is in NAME/place. The flags of these keys are the history. Keys of the copy that no
// mirror has written are left alone, unless they are in its way.

#include <belay/changes.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace belay {
inline namespace v0 {

class mirror {
public:
  /// @param name of what it notes beside the copy. All mirrors of one copy have the same; not below `copy_prefix`
  mirror(world& original, std::string prefix, world& copy, std::string copy_prefix, std::string name);
  mirror(const mirror&) = delete;
  mirror& operator=(const mirror&) = delete;

  /// Copies the next changes; waits for some.
  task<status> step(patience limit);
  /// Whether there is nothing left to copy now. Does not wait for something to happen.
  task<result<bool>> is_current(patience limit);
  /// Compares all keys, and writes what the copy has otherwise although it was copied: somebody else has changed it.
  /// @returns how many were written
  task<result<std::uint64_t>> repair(patience limit);

  /// Of the original: everything up to there is copied, but for left_out(). Empty: not known yet.
  std::string place() const;
  /// Keys of the original that differ from the copy because they cannot be carried, and why.
  const std::map<std::string, std::string>& left_out() const noexcept { return left_out_; }

private:
  /// What the copy has of a key.
  struct noted {
    std::uint64_t original = 0; ///< index of what was copied
    std::uint64_t history = 0;  ///< that this index belongs to; 0: it is not known
    bool erased = false;
    std::uint64_t index = 0; ///< of the note
    bool later = false;      ///< it came after the present batch was asked for: another mirror has written it
  };
  /// NAME/place as it was read.
  struct kept_place {
    std::string position;
    std::uint64_t history = 0;
    std::uint64_t index = 0; ///< of the key; 0: there is none
  };
  enum class standing { ours, taken_over };

  task<status> begin(patience limit);
  task<status> read_notes(patience limit);
  task<status> read_place(patience limit);
  task<result<standing>> take_on(const change_batch& b, patience limit);
  task<result<standing>> store_place(std::string place, patience limit);
  task<result<standing>> copy_all(const change_batch& b, patience limit);
  task<result<standing>> copy_one(key_change c, patience limit);
  task<result<standing>> erase_others(const change_batch& b, patience limit);
  enum class naming { exact, misnamed, none_left };
  task<result<naming>> naming_of(const key_change& c, patience limit);
  bool is_void(const noted& n) const;
  bool has_it(const noted& n, const key_change& c) const;

  world& original_;
  std::string prefix_;
  world& copy_;
  std::string copy_prefix_;
  std::string name_;
  std::unique_ptr<changes> source_;
  kept_place kept_;
  std::map<std::string, noted> notes_; ///< by key without the prefix
  std::map<std::string, std::string> left_out_;
  std::string reached_; ///< place()
  // Of the present batch:
  std::uint64_t history_ = 0;  ///< 0: the server does not name it
  std::uint64_t snapshot_ = 0; ///< index of the snapshot that is copied; 0: it is no snapshot
  bool other_history_ = false; ///< it is the first one of another history than that of the notes
  std::uint64_t ran_ = 0;      ///< history of the batch before
};

} // namespace v0
} // namespace belay
