#pragma once
// A file for appending lines that is replaced by a new one when it is large or old. Blocks. A line
// is written completely or not at all; if there is no space for some lines, those before them stay.

#include "protocol/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

/// Number of lines that end in the text.
std::size_t lines_in(std::string_view text);

struct rotation_rules {
  /// Path of the file: `/var/log/audit.json`. If it rotates, names have the nanoseconds since 1970
  /// of their start, as in Consul: `/var/log/audit-1606843861652566000.json`. Devices, pipes,
  /// /dev/stdout and /dev/stderr never rotate.
  std::string path;
  mode_t mode = 0600;
  std::uint64_t rotate_bytes = 0;           ///< maximum size, except for a single longer line; 0: no limit
  std::chrono::nanoseconds rotate_after{0}; ///< maximum time of writing to a file; 0: no limit
  std::uint64_t files_max = 0;              ///< number of older files kept beside the current one; 0: all

  bool rotates() const { return rotate_bytes > 0 || rotate_after.count() > 0; }
};

class rotated_file {
public:
  /// Creates missing folders, accessible to the owner only. Continues a file that is not
  /// large or old yet, so that frequent restarts do not push out earlier files.
  /// @param now_ns wall clock, since 1970; here and below
  static result<rotated_file> open(rotation_rules rules, std::int64_t now_ns);

  rotated_file(rotated_file&& other) noexcept
      : rules_(std::move(other.rules_)), fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)),
        begun_ns_(other.begun_ns_), size_(other.size_), regular_(other.regular_), torn_(other.torn_),
        complaint_(std::move(other.complaint_)) {}
  rotated_file& operator=(rotated_file&&) = delete;
  ~rotated_file();

  struct appended {
    std::size_t lines = 0, bytes = 0; ///< written to the file, from the first one on
    std::string error;                ///< not empty: why the rest was not written
  };
  /// @pre `text` is empty or ends with a line feed
  appended append(std::string_view text, std::int64_t now_ns);

  /// Path of the current file.
  const std::string& name() const { return name_; }
  /// A problem that stopped nothing (such as an old file that was not removed), once; empty: none.
  std::string take_complaint() { return std::exchange(complaint_, {}); }

private:
  explicit rotated_file(rotation_rules rules) : rules_(std::move(rules)) {}

  status open_current(std::int64_t now_ns);
  status open_named(const std::string& name, std::int64_t begun_ns, bool fresh);
  status begin_next(std::int64_t now_ns);
  void follow_current(std::int64_t now_ns);
  bool is_due(std::size_t more_bytes, std::int64_t now_ns) const;
  std::size_t fitting(std::string_view text) const;
  std::size_t write_some(std::string_view text, std::string& error);
  void take_back(std::size_t bytes);
  std::vector<std::pair<std::int64_t, std::filesystem::path>> older_files() const;
  void remove_oldest();
  void close();

  rotation_rules rules_;
  int fd_ = -1;
  std::string name_;
  std::int64_t begun_ns_ = 0;
  std::uint64_t size_ = 0; ///< size of a regular file
  bool regular_ = true;
  bool torn_ = false; ///< it ends within a line
  std::string complaint_;
};

} // namespace belay::actors
