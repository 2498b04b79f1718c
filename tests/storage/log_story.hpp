#pragma once
// The expected contents of a Raft log, and a varied life of one to compare with.

#include "protocol/base/random.hpp"
#include "storage/log/segment_log.hpp"

#include <map>
#include <string>
#include <vector>

namespace belay::tests {

/// Version of the segments of logs that are begun.
inline storage::segment_version begun_version = storage::segment_version::aligned_frames;
inline bool sectors() {
  return begun_version == storage::segment_version::sectors;
}
/// Runs a test case once for each version.
void each_version();

raft::entry make_entry(std::uint64_t index, std::uint64_t term, std::string data,
                       raft::entry_kind kind = raft::entry_kind::command);
raft::persist_batch batch_of(std::vector<raft::entry> entries);
bool same_entry(const raft::entry& a, const raft::entry& b);

/// The log according to its owner.
struct expected_log {
  raft::hard_state hard;
  std::map<std::uint64_t, raft::entry> entries; ///< including those compacted away
  std::uint64_t next_index = 1;
  std::uint64_t first_kept = 1; ///< entries below it may exist or not

  void apply(const raft::persist_batch& b);
  /// Empty: `found` is this log. Otherwise what is wrong.
  std::string difference(const storage::loaded_log& found) const;
};

/// One step of a life.
struct story_step {
  std::size_t calls_after = 0; ///< changing calls of the disk up to the end of the step
  expected_log log;            ///< after the step
};

/// Draws batches with everything that a batch can have.
std::vector<raft::persist_batch> draw_batches(const expected_log& log, seeded_random& random);

} // namespace belay::tests
