#pragma once
// Facts about the machine of this server, for GET /v1/agent/host: the members that Consul's
// library (gopsutil) has, read from /proc and the file system.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::actors {

/// May block. What cannot be read is named in the member Errors, and missing or zero elsewhere.
/// @param disk a path on the disk to report
/// @param now_ns of the wall clock, since 1970
std::string host_json(const std::string& disk, std::int64_t now_ns);

/// Parts of host_json(), from texts in the format of /proc/meminfo and /proc/cpuinfo.
std::string memory_json(std::string_view meminfo);
std::string processors_json(std::string_view cpuinfo);

} // namespace belay::actors
