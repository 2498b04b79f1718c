#pragma once
// A new file that only its owner may read, written piece by piece.

#include <string>
#include <string_view>

namespace belay::cli {

/// Has mode 0600, whatever the umask permits. A file that exists under this name is an error, and
/// is never written to.
class private_file {
public:
  explicit private_file(std::string path);
  ~private_file();
  private_file(const private_file&) = delete;
  private_file& operator=(const private_file&) = delete;

  const std::string& path() const { return path_; }
  /// The error, such as `write FILE: no space left on device`; empty: none.
  const std::string& complaint() const { return complaint_; }
  /// @returns false on an error: see complaint()
  bool append(std::string_view bytes);
  /// Syncs and closes the file.
  /// @returns as append()
  bool finish();

private:
  bool failed(const std::string& what);

  std::string path_;
  int fd_ = -1;
  std::string complaint_;
};

/// @returns false if not all of it was written: see errno
bool write_all(int fd, std::string_view bytes);

/// The system's text for an errno, in lower case as in Go.
std::string reason(int number);

} // namespace belay::cli
