#pragma once
// A new file that only its owner may read, written piece by piece.

#include <string>
#include <string_view>

namespace belay::cli {

/// Mode 0600, whatever the umask permits. What is there under the name is refused, never written to.
class private_file {
public:
  explicit private_file(std::string path);
  ~private_file();
  private_file(const private_file&) = delete;
  private_file& operator=(const private_file&) = delete;

  const std::string& path() const { return path_; }
  /// Why it cannot be written, like `write FILE: no space left on device`; empty: it can.
  const std::string& complaint() const { return complaint_; }
  /// @returns false: complaint() says why
  bool append(std::string_view bytes);
  /// Synced and closed. @returns as append()
  bool finish();

private:
  bool failed(const std::string& what);

  std::string path_;
  int fd_ = -1;
  std::string complaint_;
};

/// @returns false: errno says why not all of it was written
bool write_all(int fd, std::string_view bytes);

/// The system's words for an errno in Go's way: in lower case.
std::string reason(int number);

} // namespace belay::cli
