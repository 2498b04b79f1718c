#pragma once
// Resources of the machine for a test: folders, ports, file descriptors.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace belay::harness {

/// A new folder below the system's temporary one, removed at the end unless BELAY_KEEP is set.
class scratch_folder {
public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  /// The path of a file or folder in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file with this text. @returns its path
  std::string write(const std::string& name, const std::string& text) const;

private:
  std::filesystem::path path_;
};

/// Free TCP ports of 127.0.0.1, each of them returned only once by this process. They are below the
/// system's range of outgoing ports, so that a server that is down finds its port free again.
std::vector<std::uint16_t> free_ports(std::size_t count);

/// Lets this process and its children open as many files as the system permits.
void raise_file_limit();

/// All of a file; empty if it cannot be read.
std::string file_text(const std::filesystem::path& file);

/// The last `bytes_max` bytes of a file; empty if it cannot be read.
std::string file_tail(const std::filesystem::path& file, std::size_t bytes_max);

/// The value of an environment variable, or `otherwise` if it is unset or empty.
std::string environment(const char* name, const std::string& otherwise);

} // namespace belay::harness
