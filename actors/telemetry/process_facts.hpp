#pragma once
// What the operating system says of this process, under the names that Prometheus' own clients use (Consul's among them).

#include <cstdint>
#include <string>

namespace belay::actors {

struct process_facts {
  double cpu_seconds = 0; ///< user and system, since the start
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t open_files_max = 0; ///< 0: no limit
  double started = 0;               ///< seconds since 1970
};

/// Reads /proc, which takes milliseconds with thousands of connections. What cannot be read is zero.
process_facts read_process_facts();

/// Prometheus' text format.
void append_prometheus(std::string& out, const process_facts& f);
/// Rows of docs/metrics.md.
std::string process_reference();

} // namespace belay::actors
