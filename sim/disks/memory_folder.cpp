#include "sim/disks/memory_folder.hpp"

#include "protocol/base/check.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace belay::sim {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "belay-sim-"; // then the process, "-", and a number

fs::path parent() {
  std::error_code ec;
  const fs::path memory = "/dev/shm";
  if (fs::is_directory(memory, ec) && ::access(memory.c_str(), W_OK) == 0)
    return memory;
  return fs::temp_directory_path();
}

void remove_leftovers(const fs::path& in) {
  std::error_code ec;
  for (const auto& each : fs::directory_iterator(in, ec)) {
    const auto name = each.path().filename().string();
    if (!name.starts_with(prefix))
      continue;
    const auto process = static_cast<pid_t>(std::strtol(name.c_str() + prefix.size(), nullptr, 10));
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH)
      fs::remove_all(each.path(), ec);
  }
}

} // namespace

std::string make_memory_folder() {
  static std::once_flag first;
  static std::atomic<std::uint64_t> next{0};
  const auto in = parent();
  std::call_once(first, [&] { remove_leftovers(in); });
  auto folder = in / (std::string(prefix) + std::to_string(::getpid()) + "-" + std::to_string(next++));
  std::error_code ec;
  fs::remove_all(folder, ec);
  const bool made = fs::create_directory(folder, ec);
  INVARIANT(made);
  return folder.string();
}

void remove_memory_folder(const std::string& folder) {
  std::error_code ec;
  fs::remove_all(folder, ec);
}

} // namespace belay::sim
