#pragma once
// Facts of the operating system about this process, named as in Prometheus' clients (and Consul).

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

/// Reads /proc, which takes milliseconds with thousands of sockets. What cannot be read is zero.
process_facts read_process_facts();

/// Prometheus' text format.
void append_prometheus(std::string& out, const process_facts& f);
/// Rows of docs/reference/metrics.md.
std::string process_reference();

} // namespace belay::actors
