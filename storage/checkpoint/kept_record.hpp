#pragma once
// To which checkpoints the window of changes belongs that is kept beside them. It is written first, so that the checkpoint that is there may be
// the one before or the one it was written for. If it is another one (a leader has sent it, or a server of before wrote it), changes between are
// missing.

#include "storage/checkpoint/checkpoint_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::storage {

struct kept_record {
  struct mark {
    log_index index; ///< zero: there was none
    std::uint64_t digest = 0;
    bool operator==(const mark&) const = default;
  };
  mark before; ///< the checkpoint that was there
  mark newest; ///< the one that was to come
  log_index floor;
  std::uint64_t rows = 0;

  bool operator==(const kept_record&) const = default;

  /// Rows up to the index of that checkpoint are what has led to it.
  bool belongs_to(const checkpoint_info& there) const;
  /// Rows up to that index are all there, behind the floor.
  bool reaches(log_index index) const { return index == newest.index || index == before.index; }

  static mark mark_of(const checkpoint_info& i) { return {i.meta.index, i.digest}; }
};

/// u64 index and u64 digest of both checkpoints | u64 floor | u64 rows; little-endian
std::string encode(const kept_record& k);
std::optional<kept_record> decode_kept_record(std::string_view bytes);

} // namespace belay::storage
