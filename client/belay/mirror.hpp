#pragma once
// Copies the keys below a prefix to another server or cluster.
//
// Guarantees: a key of the copy has the value of the original at some index, and never goes back to
// an older one. That holds however many mirrors write it, and however late their writes arrive.
// Each write is conditional on the index of the original that the copy has, never on wall time.
// When the original stops changing and a mirror runs, the copy becomes equal, except left_out(). An
// original that was restored, or replaced by another cluster, has another history: its indexes
// cannot be compared with those recorded at the copy. Then everything is copied again. Survives:
// lost responses, mirrors that die between any two steps, both clusters unavailable for a while, a
// history that is gone (then it compares everything), leader changes. On failure: step() is
// *refused* with the reason of the request that failed; what was copied stays, and the next step
// resumes. *Refused* with reason::held: another mirror of that name copies an original with another
// history. Keys that the copy's server rejects are left out, and the others are copied. NAME/place
// does not advance while keys are left out.
//
// For each key, erased ones included, the copy records the index of the original below NAME/at/;
// the cursor is in NAME/place. The flags of these keys are the history. Keys of the copy that no
// mirror has written are left alone, unless they are in the way of a key of the original.

#include <belay/changes.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace belay {
inline namespace v0 {

class mirror {
public:
  /// @param name prefix of the keys at the copy that store the progress: the same for all mirrors
  /// of this copy, and not below `copy_prefix`
  mirror(environment& original, std::string prefix, environment& copy, std::string copy_prefix, std::string name);
  mirror(const mirror&) = delete;
  mirror& operator=(const mirror&) = delete;

  /// Copies the next changes; waits for some.
  task<status> step(deadline limit);
  /// Whether nothing is left to copy now. Does not wait for changes.
  task<result<bool>> is_current(deadline limit);
  /// Compares all keys, and writes those that another client has changed in the copy. @returns how
  /// many were written
  task<result<std::uint64_t>> repair(deadline limit);

  /// Cursor of the original: everything before it is copied, except left_out(). Empty: unknown.
  std::string cursor() const;
  /// Keys of the original that differ from the copy because they cannot be copied, and why.
  const std::map<std::string, std::string>& left_out() const noexcept { return left_out_; }

private:
  /// What the copy records about a key.
  struct noted {
    std::uint64_t original = 0; ///< index of the original that was copied
    std::uint64_t history = 0;  ///< the history of that index; 0: unknown
    bool erased = false;
    std::uint64_t index = 0; ///< index of the record itself
    bool later = false;      ///< written by another mirror after the present batch was requested
  };
  /// NAME/place as it was read.
  struct kept_cursor {
    std::string position;
    std::uint64_t history = 0;
    std::uint64_t index = 0; ///< index of the key; 0: it does not exist
  };
  enum class standing { ours, taken_over };

  task<status> begin(deadline limit);
  task<status> read_notes(deadline limit);
  task<status> read_cursor(deadline limit);
  task<result<standing>> take_on(const change_batch& b, deadline limit);
  task<result<standing>> store_cursor(std::string cursor, deadline limit);
  task<result<standing>> copy_all(const change_batch& b, deadline limit);
  task<result<standing>> copy_one(key_change c, deadline limit);
  task<result<standing>> erase_others(const change_batch& b, deadline limit);
  enum class naming { exact, misnamed, none_left };
  task<result<naming>> naming_of(const key_change& c, deadline limit);
  bool is_void(const noted& n) const;
  bool has_it(const noted& n, const key_change& c) const;

  environment& original_;
  std::string prefix_;
  environment& copy_;
  std::string copy_prefix_;
  std::string name_;
  std::unique_ptr<changes> source_;
  kept_cursor kept_;
  std::map<std::string, noted> notes_; ///< by key without the prefix
  std::map<std::string, std::string> left_out_;
  std::string reached_; ///< cursor()
  // State of the present batch:
  std::uint64_t history_ = 0;  ///< 0: the server does not name it
  std::uint64_t snapshot_ = 0; ///< index of the snapshot that is being copied; 0: it is not a snapshot
  bool other_history_ = false; ///< it is the first batch of another history than that of the records
  std::uint64_t ran_ = 0;      ///< history of the previous batch
};

} // namespace v0
} // namespace belay
