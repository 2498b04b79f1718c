#include "actors/node/disk/known_servers.hpp"

#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/sealed_lines.hpp"
#include "protocol/base/host_port.hpp"

#include <algorithm>
#include <sstream>

namespace belay::actors {

namespace {

constexpr auto file_name = "/known-servers";
constexpr std::size_t address_bytes_max = 300; ///< a DNS name has at most 253

/// Validates addresses, which come from other machines.
bool is_address(const std::string& text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  const auto where = split_host_port(text);
  return printable && text.size() <= address_bytes_max && !where.host.empty() && where.number() != 0;
}

} // namespace

result<std::vector<std::string>> load_known_servers(const std::string& directory, storage::file_system& files) {
  const auto file = directory + file_name;
  const auto text = files.read_if_there(file);
  if (!text)
    return failure{"cannot read " + file + ": " + text.error()};
  std::vector<std::string> servers;
  if (!*text)
    return servers;
  const auto end = (*text)->rfind(checksum_line);
  if (end == std::string::npos || **text != sealed((*text)->substr(0, end)))
    return failure{file + " is damaged"};
  std::istringstream in((*text)->substr(0, end));
  for (std::string line; std::getline(in, line) && servers.size() < known_servers_max;)
    if (is_address(line))
      servers.push_back(line);
  return servers;
}

status save_known_servers(const std::string& directory, const std::vector<std::string>& servers,
                          storage::file_system& files) {
  std::string lines;
  std::size_t kept = 0;
  for (const auto& each : servers)
    if (is_address(each) && kept++ < known_servers_max)
      lines += each + "\n";
  return write_durably(files, directory + file_name, sealed(lines));
}

void known_servers_keeper::take(std::vector<std::string> servers) {
  const std::lock_guard<std::mutex> lock(newest_held_);
  newest_ = std::move(servers);
  written_ = false;
}

status known_servers_keeper::write() {
  const std::lock_guard<std::mutex> one_at_a_time(writing_);
  std::vector<std::string> servers;
  {
    const std::lock_guard<std::mutex> lock(newest_held_);
    if (std::exchange(written_, true))
      return done{};
    servers = newest_;
  }
  if (auto s = save_known_servers(directory_, servers); !s)
    return s;
  return note_left(directory_, false);
}

} // namespace belay::actors
