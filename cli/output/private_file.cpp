#include "cli/output/private_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace belay::cli {

std::string reason(int number) {
  std::string text = std::strerror(number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

private_file::private_file(std::string path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd_ < 0)
    failed("open ");
}

private_file::~private_file() {
  if (fd_ >= 0)
    ::close(fd_);
}

bool private_file::failed(const std::string& what) {
  complaint_ = what + path_ + ": " + reason(errno);
  return false;
}

bool private_file::append(std::string_view bytes) {
  return complaint_.empty() && (write_all(fd_, bytes) || failed("write "));
}

bool private_file::finish() {
  if (!complaint_.empty())
    return false;
  if (::fsync(fd_) != 0)
    return failed("sync ");
  const int closed = ::close(fd_);
  fd_ = -1;
  return closed == 0 || failed("close ");
}

} // namespace belay::cli
