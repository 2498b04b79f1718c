#pragma once
// Says to which checkpoints the stored window of changes belongs. It is written first, so the
// current checkpoint may be the previous one or the one that it was written for. If it is another
// one (sent by a leader, or written by an earlier version), the changes in between are missing.

#include "storage/checkpoint/checkpoint_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::storage {

struct kept_record {
  struct position {
    log_index index; ///< zero: there was none
    std::uint64_t digest = 0;
    bool operator==(const position&) const = default;
  };
  position before; ///< the checkpoint at that time
  position newest; ///< the next one
  log_index floor;
  std::uint64_t rows = 0;

  bool operator==(const kept_record&) const = default;

  /// Whether rows up to the index of that checkpoint are the changes that led to it.
  bool belongs_to(const checkpoint_info& there) const;
  /// Whether all rows from the floor up to that index are stored.
  bool reaches(log_index index) const { return index == newest.index || index == before.index; }

  static position position_of(const checkpoint_info& i) { return {i.meta.index, i.digest}; }
};

/// u64 index and u64 digest of both checkpoints | u64 floor | u64 rows; little-endian
std::string encode(const kept_record& k);
std::optional<kept_record> decode_kept_record(std::string_view bytes);

} // namespace belay::storage
