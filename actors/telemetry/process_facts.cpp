#include "actors/telemetry/process_facts.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace belay::actors {

namespace {

struct named_fact {
  const char* name;
  const char* type;
  const char* means;
  double (*value)(const process_facts&);
};

constexpr std::array<named_fact, 6> facts{{
    {"process_cpu_seconds_total", "counter", "CPU time in seconds, user and system",
     [](const process_facts& f) { return f.cpu_seconds; }},
    {"process_resident_memory_bytes", "gauge", "resident memory in bytes",
     [](const process_facts& f) { return static_cast<double>(f.resident_bytes); }},
    {"process_virtual_memory_bytes", "gauge", "virtual memory in bytes",
     [](const process_facts& f) { return static_cast<double>(f.virtual_bytes); }},
    {"process_open_fds", "gauge", "number of open file descriptors, mostly connections",
     [](const process_facts& f) { return static_cast<double>(f.open_files); }},
    {"process_max_fds", "gauge", "limit of open file descriptors. Alarm if process_open_fds comes close",
     [](const process_facts& f) { return static_cast<double>(f.open_files_max); }},
    {"process_start_time_seconds", "gauge", "start time of the process in seconds since 1970",
     [](const process_facts& f) { return f.started; }},
}};

std::string text_of(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::uint64_t count_open_files() {
  std::uint64_t n = 0;
  if (auto* all = ::opendir("/proc/self/fd")) {
    while (const auto* each = ::readdir(all))
      n += each->d_name[0] != '.' ? 1 : 0;
    ::closedir(all);
    --n; // the one opened for reading the folder
  }
  return n;
}

/// When the machine was started, in seconds since 1970.
double boot_time() {
  std::istringstream lines(text_of("/proc/stat"));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("btime ")) {
      double seconds = 0;
      std::from_chars(line.data() + 6, line.data() + line.size(), seconds);
      return seconds;
    }
  return 0;
}

} // namespace

process_facts read_process_facts() {
  process_facts f;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto stat = text_of("/proc/self/stat");
  // proc(5): the name, in parentheses, may contain anything; the third field follows it.
  if (const auto name_end = stat.rfind(')'); name_end != std::string::npos && ticks > 0) {
    std::istringstream fields(stat.substr(name_end + 1));
    std::string skipped;
    for (int i = 3; i < 14; ++i)
      fields >> skipped;
    std::uint64_t user = 0, system = 0, started = 0;
    fields >> user >> system;
    for (int i = 16; i < 22; ++i)
      fields >> skipped;
    std::uint64_t resident_pages = 0;
    fields >> started >> f.virtual_bytes >> resident_pages;
    f.cpu_seconds = static_cast<double>(user + system) / ticks;
    f.resident_bytes = resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    f.started = boot_time() + static_cast<double>(started) / ticks;
  }
  f.open_files = count_open_files();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    f.open_files_max = limit.rlim_cur;
  return f;
}

void append_prometheus(std::string& out, const process_facts& f) {
  for (const auto& each : facts) {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, each.value(f), std::chars_format::fixed).ptr;
    out.append("# TYPE ").append(each.name).append(" ").append(each.type).append("\n");
    out.append(each.name).append(" ").append(text, end).append("\n");
  }
}

std::string process_reference() {
  std::string out;
  for (const auto& each : facts)
    out.append("| `").append(each.name).append("` | ").append(each.means).append(" |\n");
  return out;
}

} // namespace belay::actors
