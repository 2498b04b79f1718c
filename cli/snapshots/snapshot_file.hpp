#pragma once
// Archives of /v1/snapshot as files: written under another name, checked, and renamed.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::cli {

/// What the metadata of an archive says.
struct snapshot_facts {
  std::string id;
  std::uint64_t size = 0; ///< size of state.bin, in bytes
  std::uint64_t index = 0, term = 0, version = 0;
};

/// Reads a whole archive, compares its checksums and, if Belay made it, checks its rows as a
/// restore would. The failure reads `Error opening snapshot file: ...` or
/// `Error verifying snapshot: ...`.
result<snapshot_facts> verify_snapshot(const std::string& path);

/// A new file `PATH.unverified.tmpN` that only its owner may read. It is removed at the end, unless
/// it was put in place.
class unverified_file {
public:
  explicit unverified_file(std::string path);
  ~unverified_file();
  unverified_file(const unverified_file&) = delete;
  unverified_file& operator=(const unverified_file&) = delete;

  /// The error; empty: none.
  const std::string& complaint() const { return complaint_; }
  /// @returns false on an error: see complaint()
  bool append(std::string_view bytes);
  /// Syncs the file, verifies it, and renames it to its final name.
  result<snapshot_facts> put_in_place();

private:
  bool failed(const std::string& what);

  std::string path_, temporary_;
  int fd_ = -1;
  std::string complaint_;
};

} // namespace belay::cli
