#pragma once
// A file that lines are appended to, and that gives way to a new one when it is large or old. Blocks. A line is in the file as a
// whole or not at all; when there is no room for some lines, those before them stay.

#include "protocol/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

/// How many end in the text.
std::size_t lines_in(std::string_view text);

struct rotation_rules {
  /// Of the file; `/var/log/audit.json`. If files rotate, their names have the nanoseconds since 1970 of when they were begun in them, as
  /// Consul's: `/var/log/audit-1606843861652566000.json`. May also be a device, a pipe, /dev/stdout or /dev/stderr: these never rotate.
  std::string path;
  mode_t mode = 0600;
  std::uint64_t rotate_bytes = 0; ///< a file is not made longer than this, unless by a single line; 0: of any length
  std::chrono::nanoseconds rotate_after{0}; ///< a file is written to for so long; 0: for ever
  std::uint64_t files_max = 0; ///< so many older files are kept beside the one that is written; 0: all of them

  bool rotates() const { return rotate_bytes > 0 || rotate_after.count() > 0; }
};

class rotated_file {
public:
  /// Missing folders are made, readable for nobody else. A file that is not large or old yet is continued, so that a server that is
  /// started again and again does not push out what earlier files say.
  /// @param now_ns wall clock, since 1970; here and below
  static result<rotated_file> open(rotation_rules rules, std::int64_t now_ns);

  rotated_file(rotated_file&& other) noexcept
      : rules_(std::move(other.rules_)), fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)),
        begun_ns_(other.begun_ns_), size_(other.size_), regular_(other.regular_), torn_(other.torn_),
        complaint_(std::move(other.complaint_)) {}
  rotated_file& operator=(rotated_file&&) = delete;
  ~rotated_file();

  struct appended {
    std::size_t lines = 0, bytes = 0; ///< that are in the file now: the first ones
    std::string error;                ///< not empty: why the rest is not
  };
  /// @pre `text` is empty or ends with a line feed
  appended append(std::string_view text, std::int64_t now_ns);

  /// The path of the file that is written now.
  const std::string& name() const { return name_; }
  /// What went wrong without stopping anything (an old file that could not be removed, ...), once; empty: nothing.
  std::string take_complaint() { return std::exchange(complaint_, {}); }

private:
  explicit rotated_file(rotation_rules rules) : rules_(std::move(rules)) {}

  status open_place(std::int64_t now_ns);
  status open_named(const std::string& name, std::int64_t begun_ns, bool fresh);
  status begin_next(std::int64_t now_ns);
  void follow_place(std::int64_t now_ns);
  bool is_due(std::size_t more_bytes, std::int64_t now_ns) const;
  std::size_t fitting(std::string_view text) const;
  std::size_t write_some(std::string_view text, std::string& error);
  void take_back(std::size_t bytes);
  std::vector<std::pair<std::int64_t, std::string>> older_files() const;
  void remove_oldest();
  void close();

  rotation_rules rules_;
  int fd_ = -1;
  std::string name_;
  std::int64_t begun_ns_ = 0;
  std::uint64_t size_ = 0; ///< of a regular file
  bool regular_ = true;
  bool torn_ = false; ///< it ends amid a line
  std::string complaint_;
};

} // namespace belay::actors
