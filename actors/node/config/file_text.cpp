#include "actors/node/config/file_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace belay::actors {

namespace {

class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  int get() const { return fd_; }

private:
  int fd_;
};

failure io_failure(const char* what, const std::string& path, int error) {
  const std::string why = error == ENOENT   ? "no such file or directory"
                          : error == EACCES ? "permission denied"
                          : error == EISDIR ? "is a directory"
                                            : std::strerror(error);
  return {std::string(what) + " " + path + ": " + why};
}

} // namespace

failure open_failure(const std::string& path, int error) {
  return io_failure("open", path, error);
}

result<std::optional<std::string>> read_file_text_if_there(const std::string& path, std::size_t bytes_max) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const int error = errno;
    if (error == ENOENT)
      return std::optional<std::string>();
    return open_failure(path, error);
  }
  std::string text;
  char piece[16u << 10];
  for (;;) {
    const auto n = ::read(file.get(), piece, sizeof piece);
    if (n == 0)
      return std::optional<std::string>(std::move(text));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return io_failure("read", path, errno);
    text.append(piece, static_cast<std::size_t>(n));
    if (text.size() > bytes_max)
      return failure{path + ": more than " + std::to_string(bytes_max) + " bytes"};
  }
}

result<std::string> read_file_text(const std::string& path, std::size_t bytes_max) {
  auto found = read_file_text_if_there(path, bytes_max);
  if (!found)
    return found.reason();
  if (!*found)
    return open_failure(path, ENOENT);
  return std::move(**found);
}

} // namespace belay::actors
