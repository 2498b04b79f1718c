#pragma once
// A copy of the keys below a prefix, on another server or cluster.
//
// Promise: a key of the copy is what the original was at some index, and never goes back to an older one, however many mirrors
// write it and however late their writes come: each is conditional on the index of the original that the copy has, never on a
// wall time. Once the original stands still, and a mirror runs, the copy is equal.
// Survives: lost answers, mirrors that die between any two steps, both clusters away for a while, a history that is gone (then
// it compares everything), the other cluster's leader changes.
// When it cannot: step() is *refused* with the reason of what did not answer; what was copied stays, and the next step goes on
// where it is known to have come to.
//
// Of each key the copy notes the index of the original, below NAME/at/, also of erased ones; and how far it is in NAME/place.
// Keys of the copy that no mirror has written are left alone, unless they are in its way.

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
  /// Compares all keys, and writes what the copy has otherwise although it was copied: somebody else has changed it.
  /// @returns how many were written
  task<result<std::uint64_t>> repair(patience limit);

private:
  /// What the copy has of a key.
  struct noted {
    std::uint64_t original = 0; ///< index of what was copied
    bool erased = false;
    std::uint64_t index = 0; ///< of the note
  };
  task<status> begin(patience limit);
  task<status> read_notes(patience limit);
  task<status> copy_one(key_change c, patience limit);
  task<status> erase_others(change_batch b, patience limit);

  world& original_;
  std::string prefix_;
  world& copy_;
  std::string copy_prefix_;
  std::string name_;
  std::unique_ptr<changes> source_;
  std::map<std::string, noted> notes_; ///< by key without the prefix
};

} // namespace v0
} // namespace belay
