#pragma once
// The Raft log of a server: a directory of segment files. Their layout is in segment_format.hpp.
//
//   lock                       held while the log is open
//   0000000000000007.segment   numbers are contiguous; the highest is the one written to
//   0000000000000003.free      prepared or used up; neither its bytes nor its number mean anything
//
// Why each append is atomic, and durable once acknowledged: it is one frame with one checksum,
// synced before append() returns. A new segment gets its header and first frame, is synced, then
// gets its name: a file named .segment always has both. A used-up segment loses that name before
// its bytes are overwritten. A new file is filled with zeros before it gets a name.
//
// In segments of version 1 the same holds for used-up files, so what follows the last frame is
// always zeros or one unfinished write. In version 2 old sectors may follow it (sector_format.hpp).

#include "storage/file_system.hpp"
#include "storage/log/log_store.hpp"
#include "storage/log/segment_format.hpp"

#include "protocol/base/random.hpp"

#include <deque>
#include <optional>
#include <string>

namespace belay::storage {

struct segment_log_options {
  /// Rounded up to a multiple of 4096. An append that needs more gets a larger segment.
  std::size_t segment_bytes = 16u << 20;
  /// Zeros written ahead after each append: a segment of 16 MiB is ready after 64 appends.
  std::size_t fill_bytes = 256u << 10;
  std::size_t free_segments_max = 2; ///< used-up segments kept for reuse
  std::uint64_t seed = 0;            ///< seed of the salts; zero: from the operating system
  /// Version of the segments of a log that is begun, or that use_sectors() was called for. A log
  /// that has segments of version 2 goes on with them.
  segment_version newest = segment_version::aligned_frames;
};

/// Counters for operators and tests.
struct segment_log_counters {
  std::uint64_t appends = 0;
  std::uint64_t bytes = 0;
  std::uint64_t segments_begun = 0;
  std::uint64_t segments_recycled = 0; ///< number of reused ones among them
  std::uint64_t waited_for_fill = 0;   ///< appends that first had to fill the next segment with zeros
  std::uint64_t torn_bytes_cut = 0;    ///< by load()
};

/// Names of the files in a log's directory.
std::string segment_name(std::uint64_t number);
std::string free_name(std::uint64_t number);

class segment_log : public log_store {
public:
  /// Creates the directory if missing and takes its lock. `files` must outlive the log.
  static result<std::unique_ptr<segment_log>> open(file_system& files, std::string directory,
                                                   segment_log_options options = {});

  using log_store::load;
  /// Reads only the header of segments whose entries are all before `needed`.
  result<loaded_log> load(log_index needed) override;
  status append(const std::vector<raft::persist_batch>& batches) override;
  using log_store::compact;
  result<bool> compact(log_index first_kept, std::size_t segments_max) override;
  void use_sectors() override { version_ = options_.newest; }

  std::size_t segment_count() const { return segments_.size() + (active_ ? 1 : 0); }
  const segment_log_counters& counters() const { return counters_; }

private:
  /// State of the log between two appends.
  struct position {
    std::uint64_t sequence = 1; ///< sequence number of the next frame
    log_index next_index{1};
    raft::hard_state hard;
  };
  struct segment {
    segment_header header;
    std::string name;
    log_index highest; ///< highest entry in it, even if truncated or compacted since
  };
  struct active_segment : segment {
    std::unique_ptr<file> f;
    std::uint64_t offset = 0; ///< offset of the next frame
  };
  /// A used-up segment of options_.segment_bytes.
  struct free_segment {
    std::string name;
    bool has_sectors = false; ///< all bytes after the header are zeros or sectors of version 2
  };
  /// The next segment while it is filled with zeros.
  struct spare_segment {
    std::string name;
    std::unique_ptr<file> f;
    std::uint64_t bytes = 0;
    std::uint64_t zeroed = 0; ///< from the beginning
    bool synced = false;
    bool recycled = false;
  };

  segment_log(file_system& files, std::string directory, segment_log_options options, std::unique_ptr<file_lock> lock);

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  result<std::vector<std::uint64_t>> sort_out_files();
  /// Number of segments that need not be read.
  result<std::size_t> skip_segments(const std::vector<std::uint64_t>& numbers, log_index needed);
  result<segment_header> read_header(std::uint64_t number);
  status read_segment(std::uint64_t number, bool last, loaded_log& into);
  /// Makes the last frame read, which ends at `end`, certainly durable, and overwrites
  /// the `torn_bytes` after it with zeros.
  status secure_end(std::string_view all, std::size_t last_frame, std::size_t end, std::size_t torn_bytes);
  failure damage(const std::string& name, std::size_t offset, const std::string& what) const;

  /// Checks that the batches are contiguous with the log. @returns the state after them.
  result<position> follow(const std::vector<raft::persist_batch>& batches) const;
  /// Size of the encoded frame in a segment of that version.
  std::size_t encoded_bytes(segment_version version) const;
  /// The encoded frame as it is written at `offset` of segment `s`.
  std::string_view sealed(const segment_header& s, std::uint64_t offset);
  status write_frame();
  status begin_segment();
  status fill_spare(std::uint64_t bytes_needed, std::size_t budget);
  void drop_spare();
  failure die(const std::string& why);
  /// Holds after each successful call. O(1).
  void check_consistency() const;

  file_system& files_;
  std::string directory_;
  segment_log_options options_;
  std::unique_ptr<file_lock> lock_;
  seeded_random random_;
  std::deque<segment> segments_; ///< all except the active one, oldest first
  std::optional<active_segment> active_;
  std::optional<spare_segment> spare_;
  std::vector<free_segment> free_;
  segment_version version_ = segment_version::aligned_frames; ///< version of the next segment
  std::uint64_t next_number_ = 1;
  std::uint64_t next_free_number_ = 1; ///< only makes names differ
  position position_;
  std::string frame_, sectors_; ///< kept for their memory
  bool loaded_ = false;
  std::string dead_; ///< why; empty: usable
  segment_log_counters counters_;
};

} // namespace belay::storage
