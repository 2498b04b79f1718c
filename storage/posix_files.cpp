#include "storage/file_system.hpp"
#include "storage/paced_writeback.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

namespace belay::storage {

namespace fs = std::filesystem;

namespace {

constexpr auto lock_name = "lock";

failure system_failure(const std::string& what, const std::string& path, int error) {
  auto text = what + " " + path + ": " + std::strerror(error);
  return error == ENOSPC || error == EDQUOT ? no_space(text) : failure{std::move(text)};
}

class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const { return fd_; }

private:
  int fd_;
};

class posix_file : public file {
public:
  posix_file(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
    std::size_t have = 0;
    while (have < n) {
      const auto got = ::pread(fd_.get(), into + have, n - have, static_cast<off_t>(offset + have));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return system_failure("cannot read", path_, errno);
      if (got == 0)
        break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }

  status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
    std::vector<iovec> rest;
    for (const auto& p : parts)
      if (!p.empty())
        rest.push_back({const_cast<char*>(p.data()), p.size()});
    std::size_t first = 0;
    while (first < rest.size()) {
      const auto count = static_cast<int>(std::min<std::size_t>(rest.size() - first, IOV_MAX));
      const auto put = ::pwritev(fd_.get(), &rest[first], count, static_cast<off_t>(offset));
      if (put < 0 && errno == EINTR)
        continue;
      if (put <= 0)
        return system_failure("cannot write", path_, put == 0 ? EIO : errno);
      offset += static_cast<std::uint64_t>(put);
      auto left = static_cast<std::size_t>(put);
      while (first < rest.size() && left >= rest[first].iov_len)
        left -= rest[first++].iov_len;
      if (first < rest.size()) {
        rest[first].iov_base = static_cast<char*>(rest[first].iov_base) + left;
        rest[first].iov_len -= left;
      }
    }
    return done{};
  }

  status sync() override {
    if (lost_ != 0)
      return system_failure("cannot sync", path_, lost_);
    if (::fdatasync(fd_.get()) != 0)
      return system_failure("cannot sync", path_, errno);
    return done{};
  }

  void begin_writeback(std::uint64_t offset, std::uint64_t n) override {
    if (const int error = write_back(fd_.get(), offset, n); lost_ == 0)
      lost_ = error;
  }

  void read_ahead() override { (void)::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_WILLNEED); }

  result<std::uint64_t> size() override {
    struct stat s {};
    if (::fstat(fd_.get(), &s) != 0)
      return system_failure("cannot examine", path_, errno);
    return static_cast<std::uint64_t>(s.st_size);
  }

private:
  descriptor fd_;
  std::string path_;
  int lost_ = 0; ///< errno of a write that the disk rejected in begin_writeback()
};

class posix_lock : public file_lock {
public:
  explicit posix_lock(int fd) : fd_(fd) {}

private:
  descriptor fd_; // flock ends with the open file
};

class posix_files : public file_system {
  static constexpr mode_t owner_only = 0600;

public:
  result<std::unique_ptr<file>> open(const std::string& path, open_mode mode) override {
    const int flags = O_RDWR | O_CLOEXEC | (mode == open_mode::fresh ? O_CREAT | O_TRUNC | O_NOFOLLOW : 0);
    const int fd = ::open(path.c_str(), flags, owner_only);
    if (fd < 0)
      return system_failure(mode == open_mode::fresh ? "cannot create" : "cannot open", path, errno);
    auto opened = std::make_unique<posix_file>(fd, path);
    // An existing file may have been readable by others.
    if (mode == open_mode::fresh && ::fchmod(fd, owner_only) != 0)
      return system_failure("cannot change the permissions of", path, errno);
    return std::unique_ptr<file>(std::move(opened));
  }

  status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      return system_failure("cannot rename to " + to + " the file", from, errno);
    return done{};
  }

  status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0)
      return system_failure("cannot remove", path, errno);
    return done{};
  }

  status sync_directory(const std::string& directory) override {
    const descriptor d(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (d.get() < 0)
      return system_failure("cannot open directory", directory, errno);
    if (::fsync(d.get()) != 0)
      return system_failure("cannot sync directory", directory, errno);
    return done{};
  }

  status make_directory(const std::string& directory) override {
    fs::path made;
    for (const auto& part : fs::path(directory)) {
      const auto parent = made.empty() ? fs::path(".") : made;
      made /= part;
      if (::mkdir(made.c_str(), 0700) == 0) {
        if (auto s = sync_directory(parent.string()); !s)
          return s;
      } else if (errno != EEXIST) {
        return system_failure("cannot create directory", made.string(), errno);
      }
    }
    return done{};
  }

  result<std::vector<std::string>> list(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code ec;
    for (fs::directory_iterator i(directory, ec), end; !ec && i != end; i.increment(ec))
      names.push_back(i->path().filename().string());
    if (ec)
      return failure{"cannot list directory " + directory + ": " + ec.message()};
    std::sort(names.begin(), names.end());
    return names;
  }

  result<std::optional<std::string>> read_if_there(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
      return std::optional<std::string>();
    if (fd < 0)
      return failure{std::strerror(errno)};
    posix_file f(fd, path);
    std::string text;
    char buffer[4096];
    for (;;) {
      const auto n = f.read_at(text.size(), buffer, sizeof buffer);
      if (!n)
        return n.reason();
      text.append(buffer, *n);
      if (*n < sizeof buffer)
        return std::optional(std::move(text));
      if (text.size() > small_file_bytes_max)
        return failure{"more than " + std::to_string(small_file_bytes_max) + " bytes"};
    }
  }

  result<std::unique_ptr<file_lock>> lock(const std::string& directory) override {
    const auto path = directory + "/" + lock_name;
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
      return system_failure("cannot open", path, errno);
    auto held = std::make_unique<posix_lock>(fd);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        return failure{directory + " is in use by another process (its file '" + lock_name +
                       "' is locked): stop that process, or use another data_dir"};
      return system_failure("cannot lock", path, errno);
    }
    return std::unique_ptr<file_lock>(std::move(held));
  }
};

} // namespace

file_system& posix_file_system() {
  static posix_files files;
  return files;
}

result<std::string> read_whole(file& f) {
  auto bytes = f.size();
  if (!bytes)
    return bytes.reason();
  std::string all(*bytes, '\0');
  auto got = f.read_at(0, all.data(), all.size());
  if (!got)
    return got.reason();
  all.resize(*got);
  return all;
}

status replace_file(file_system& files, const std::string& path, std::string_view bytes, bool durable) {
  const auto unfinished = path + std::string(unfinished_extension);
  auto f = files.open(unfinished, open_mode::fresh);
  if (!f)
    return f.reason();
  if (auto s = (*f)->write_at(0, {bytes}); !s)
    return s;
  if (durable)
    if (auto s = (*f)->sync(); !s)
      return s;
  return files.rename(unfinished, path);
}

} // namespace belay::storage
