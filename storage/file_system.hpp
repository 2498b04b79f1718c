#pragma once
// The interface to files and directories, reduced to what storage needs. Tests and the simulator
// implement it, too: to fail each call in turn, and to cut the power after every write.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::storage {

/// Form of every failure that means: the disk or quota is full.
inline failure no_space(const std::string& text) {
  return failure{"no space: " + text, failure_kind::no_space};
}

/// An open file; closed with the object. Failures name the path and the system's reason.
class file {
public:
  virtual ~file() = default;

  /// Reads fewer bytes than `n` only at the end of the file.
  virtual result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) = 0;
  /// Writes all parts, one after the other, or fails. Not durable before sync().
  virtual status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) = 0;
  /// fdatasync: contents and size are durable on success. After a failure their state is unknown.
  virtual status sync() = 0;
  /// Starts to write the range to the disk, so that a later sync() is short. A paced thread waits
  /// for it (paced_writeback.hpp). If the disk rejects it, sync() fails from then on.
  virtual void begin_writeback(std::uint64_t offset, std::uint64_t n) = 0;
  /// A hint to read the file into memory. Otherwise a write of a part of a page that is not there
  /// waits for the disk. Never fails.
  virtual void read_ahead() {}
  virtual result<std::uint64_t> size() = 0;
};

/// A lock on a directory, held while the object exists.
class file_lock {
public:
  virtual ~file_lock() = default;
};

/// Limit for files that are read at once because they are small; stops at devices and wrong files.
inline constexpr std::size_t small_file_bytes_max = 16u << 20;

enum class open_mode : std::uint8_t {
  existing, ///< read and write, must exist
  fresh,    ///< read and write, created or truncated; for its owner only
};

class file_system {
public:
  virtual ~file_system() = default;

  virtual result<std::unique_ptr<file>> open(const std::string& path, open_mode mode) = 0;
  /// Replaces `to`. Durable after sync_directory().
  virtual status rename(const std::string& from, const std::string& to) = 0;
  virtual status remove(const std::string& path) = 0;
  /// Names, creations and removals in `directory` are durable on success.
  virtual status sync_directory(const std::string& directory) = 0;
  /// Creates missing parents, too; all of them are durable on success.
  virtual status make_directory(const std::string& directory) = 0;
  /// Plain names, sorted, without "." and "..".
  virtual result<std::vector<std::string>> list(const std::string& directory) = 0;
  /// All bytes of a file that need not be writable; nullopt: no such file.
  /// More than small_file_bytes_max is a failure.
  virtual result<std::optional<std::string>> read_if_there(const std::string& path) = 0;
  /// Takes the only lock of `directory`, without waiting. @returns a failure if it is already held.
  virtual result<std::unique_ptr<file_lock>> lock(const std::string& directory) = 0;
};

/// The operating system's. Exists as long as the process.
file_system& posix_file_system();

/// Reads a whole file.
result<std::string> read_whole(file& f);
/// Extension of the new file while replace_file() fills it.
/// After a crash such a file is incomplete and is ignored.
inline constexpr std::string_view unfinished_extension = ".new";
/// Replaces `path` by a file with these bytes, atomically. `durable`:
/// its contents are synced. Its name is durable after sync_directory().
status replace_file(file_system& files, const std::string& path, std::string_view bytes, bool durable);

} // namespace belay::storage
