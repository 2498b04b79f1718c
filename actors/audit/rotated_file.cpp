#include "actors/audit/rotated_file.hpp"

#include "protocol/base/check.hpp"
#include "storage/file_system.hpp"
#include "storage/numbered_files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace belay::actors {

namespace {

namespace fs = std::filesystem;

// A pipe whose reader takes nothing for this long counts as full.
constexpr int pipe_timeout_ms = 5000;
// What a pipe accepts when poll() reports it writable (PIPE_BUF of Linux).
constexpr std::size_t pipe_bytes = 4096;

failure failed(const std::string& what, const std::string& path, int error) {
  return failure{what + " " + path + ": " + std::strerror(error)};
}

/// `audit.json` -> `audit-`, `.json`. Without an extension it is `.log`, as in Consul.
std::pair<std::string, std::string> parts_of(const std::string& path) {
  const fs::path p(path);
  auto ending = p.extension().string();
  return {p.stem().string() + "-", ending.empty() ? ".log" : ending};
}

fs::path folder_of(const std::string& path) {
  const auto folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// Creates missing folders, accessible to the owner only.
status make_folder_of(const std::string& path) {
  return storage::posix_file_system().make_directory(folder_of(path).string());
}

} // namespace

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

rotated_file::~rotated_file() {
  close();
}

void rotated_file::close() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
}

// ---- opening

result<rotated_file> rotated_file::open(rotation_rules rules, std::int64_t now_ns) {
  rotated_file f(std::move(rules));
  if (auto s = make_folder_of(f.rules_.path); !s)
    return s.reason();
  if (auto s = f.open_current(now_ns); !s)
    return s.reason();
  f.remove_oldest();
  return f;
}

status rotated_file::open_current(std::int64_t now_ns) {
  const auto& path = rules_.path;
  if (path == "/dev/stdout" || path == "/dev/stderr") { // may be a socket, which cannot be opened by that name
    const int own = path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO;
    fd_ = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
    regular_ = false;
    name_ = path;
    return fd_ >= 0 ? status(done{}) : failed("cannot open", path, errno);
  }
  struct stat there {};
  const bool special = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  if (special && S_ISDIR(there.st_mode))
    return failed("cannot open", path, EISDIR);
  if (special) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); // a pipe may have no reader
    regular_ = false;
    name_ = path;
    return fd_ >= 0 ? status(done{}) : failed("cannot open", path, errno);
  }
  if (!rules_.rotates())
    return open_named(path, now_ns, false);
  if (const auto files = older_files(); !files.empty()) {
    const auto& [begun, name] = files.back();
    if (auto s = open_named(name.string(), begun, false); !s)
      return s;
    if (!is_due(0, now_ns))
      return done{};
  }
  return begin_next(now_ns);
}

/// Replaces the open file, which stays open on failure.
/// @param fresh it must not exist yet
status rotated_file::open_named(const std::string& name, std::int64_t begun_ns, bool fresh) {
  const int fd =
      ::open(name.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | (fresh ? O_EXCL : 0), rules_.mode);
  if (fd < 0)
    return failed("cannot open", name, errno);
  struct stat now {};
  // Restores what umask removed, and removes what an earlier configuration allowed.
  if (::fchmod(fd, rules_.mode) != 0 || ::fstat(fd, &now) != 0) {
    const int error = errno;
    ::close(fd);
    return failed("cannot prepare", name, error);
  }
  close();
  fd_ = fd;
  name_ = name;
  begun_ns_ = begun_ns;
  size_ = static_cast<std::uint64_t>(now.st_size);
  regular_ = true;
  char last = '\n'; // the machine may have stopped within a line
  torn_ = size_ > 0 && ::pread(fd_, &last, 1, static_cast<off_t>(size_ - 1)) == 1 && last != '\n';
  return done{};
}

status rotated_file::begin_next(std::int64_t now_ns) {
  const auto [front, ending] = parts_of(rules_.path);
  const auto begun = std::max(now_ns, begun_ns_ + 1); // the newest has the largest number, even if the clock goes back
  return open_named((folder_of(rules_.path) / (front + std::to_string(begun) + ending)).string(), begun, true);
}

/// The files of this path, sorted by number, the newest last.
std::vector<std::pair<std::int64_t, fs::path>> rotated_file::older_files() const {
  const auto [front, ending] = parts_of(rules_.path);
  return storage::numbered_files(folder_of(rules_.path), front, ending);
}

void rotated_file::remove_oldest() {
  if (!regular_ || !rules_.rotates() || rules_.files_max == 0)
    return;
  const auto files = older_files(); // the current one is the last
  for (std::size_t i = 0; i + rules_.files_max + 1 < files.size(); ++i)
    if (::unlink(files[i].second.c_str()) != 0)
      complaint_ = failed("cannot remove", files[i].second.string(), errno).text;
}

// ---- writing

bool rotated_file::is_due(std::size_t more_bytes, std::int64_t now_ns) const {
  if (!regular_ || !rules_.rotates() || size_ == 0)
    return false;
  if (rules_.rotate_bytes > 0 && size_ + more_bytes > rules_.rotate_bytes)
    return true;
  return rules_.rotate_after.count() > 0 && now_ns - begun_ns_ >= rules_.rotate_after.count();
}

/// Opens a file again if the present one was moved or removed: further lines would be lost, or hard
/// to find.
void rotated_file::follow_current(std::int64_t now_ns) {
  if (!regular_)
    return;
  struct stat named {
  }, open{};
  if (::fstat(fd_, &open) != 0)
    return;
  if (::stat(name_.c_str(), &named) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev) {
    size_ = static_cast<std::uint64_t>(open.st_size); // it may have been truncated, too
    return;
  }
  auto s = make_folder_of(name_);
  if (s)
    s = rules_.rotates() ? begin_next(now_ns) : open_named(name_, now_ns, false);
  if (!s)
    complaint_ = s.error();
}

/// Bytes of `text` that still belong into this file, in whole lines: at least one line.
std::size_t rotated_file::fitting(std::string_view text) const {
  const auto first = text.find('\n') + 1;
  if (!regular_ || rules_.rotate_bytes == 0 || size_ + text.size() <= rules_.rotate_bytes)
    return text.size();
  if (size_ + first > rules_.rotate_bytes)
    return first;
  return text.rfind('\n', static_cast<std::size_t>(rules_.rotate_bytes - size_) - 1) + 1;
}

rotated_file::appended rotated_file::append(std::string_view text, std::int64_t now_ns) {
  PRECONDITION(text.empty() || text.back() == '\n');
  appended out;
  follow_current(now_ns);
  while (!text.empty() && out.error.empty()) {
    if (is_due(text.find('\n') + 1, now_ns)) {
      if (auto s = begin_next(now_ns); s)
        remove_oldest();
      else // better a long file than lost lines
        complaint_ = s.error();
    }
    const auto part = text.substr(0, fitting(text));
    const auto bytes = write_some(part, out.error);
    out.bytes += bytes;
    out.lines += lines_in(part.substr(0, bytes));
    text.remove_prefix(part.size());
  }
  return out;
}

/// @returns bytes in the file now, in whole lines
std::size_t rotated_file::write_some(std::string_view text, std::string& error) {
  if (torn_) {
    if (::write(fd_, "\n", 1) != 1) {
      error = failed("cannot write", name_, errno).text;
      return 0;
    }
    torn_ = false;
    ++size_;
  }
  std::size_t put = 0;
  while (put < text.size()) {
    auto rest = text.substr(put);
    if (!regular_) {
      rest = rest.substr(0, pipe_bytes);
      pollfd ready{fd_, POLLOUT, 0};
      if (const int n = ::poll(&ready, 1, pipe_timeout_ms); n == 0 || (n < 0 && errno != EINTR)) {
        error = failed("cannot write", name_, n == 0 ? ETIMEDOUT : errno).text;
        break;
      }
    }
    const auto n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      error = failed("cannot write", name_, n == 0 ? EIO : errno).text;
      break;
    }
    put += static_cast<std::size_t>(n);
  }
  size_ += put;
  const auto whole = put == 0 ? 0 : text.rfind('\n', put - 1) + 1; // npos + 1 is 0
  if (whole != put)
    take_back(put - whole);
  return whole;
}

/// Removes the beginning of a line that did not fit.
void rotated_file::take_back(std::size_t bytes) {
  if (regular_ && ::ftruncate(fd_, static_cast<off_t>(size_ - bytes)) == 0)
    size_ -= bytes;
  else
    torn_ = true;
}

} // namespace belay::actors
