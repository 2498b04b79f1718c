#pragma once
// What the machine is that this server runs on, for GET /v1/agent/host: the members that Consul's library for it (gopsutil) has, read from
// /proc and the file system.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::actors {

/// May block. What cannot be read is named in the member Errors, and left out or zero elsewhere.
/// @param disk a path on the disk that is told of
/// @param now_ns of the wall clock, since 1970
std::string host_json(const std::string& disk, std::int64_t now_ns);

/// Its parts, of texts in the form of /proc/meminfo and /proc/cpuinfo.
std::string memory_json(std::string_view meminfo);
std::string processors_json(std::string_view cpuinfo);

} // namespace belay::actors
