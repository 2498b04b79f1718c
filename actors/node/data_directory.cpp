#include "actors/node/data_directory.hpp"

#include "storage/file_system.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace belay::actors {

namespace fs = std::filesystem;

namespace {

constexpr auto format_line = "belay-data-directory 1";

status write_durably(const std::string& path, const std::string& text) {
  auto& files = storage::posix_file_system();
  if (auto s = storage::replace_file(files, path, text, true); !s)
    return s;
  return files.sync_directory(fs::path(path).parent_path().string());
}

std::string hex(std::uint64_t v) {
  char b[17];
  std::snprintf(b, sizeof b, "%016llx", static_cast<unsigned long long>(v));
  return b;
}

/// Exactly what hex() writes; nullopt: anything else, such as a digit that was damaged or a line that was cut.
std::optional<std::uint64_t> parse_hex(const std::string& text) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 16);
}

result<identity> parse(const std::string& file, const std::string& text) {
  std::istringstream in(text);
  std::string line;
  identity i;
  if (!std::getline(in, line) || line != format_line)
    return failure{file + " is damaged or of a newer version (first line is not '" + format_line +
                   "'): restore it from a copy, or remove the whole data directory to rejoin as a new server"};
  std::string name, value;
  std::optional<std::uint64_t> id, cluster;
  while (in >> name >> value) {
    if (name == "node_id")
      id = parse_hex(value);
    else if (name == "uuid")
      i.uuid = value;
    else if (name == "datacenter")
      i.datacenter = value;
    else if (name == "cluster_id")
      cluster = parse_hex(value);
  }
  if (id.value_or(0) == 0 || !cluster || i.uuid.size() != 36 || i.datacenter.empty())
    return failure{file +
                   " is damaged: restore it from a copy, or remove the whole data directory to rejoin as a new server"};
  i.id = node_id{*id};
  i.cluster_id = *cluster;
  return i;
}

} // namespace

std::uint64_t random_u64() {
  std::uint64_t v = 0;
  while (v == 0)
    INVARIANT(getrandom(&v, sizeof v, 0) == sizeof v);
  return v;
}

std::string random_uuid() {
  const auto a = random_u64();
  const auto b = random_u64();
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                static_cast<unsigned>(a >> 16) & 0xFFFF, static_cast<unsigned>(a) & 0xFFF,
                0x8000 | (static_cast<unsigned>(b >> 48) & 0x3FFF),
                static_cast<unsigned long long>(b & 0xFFFFFFFFFFFF));
  return text;
}

status save_identity(const std::string& path, const identity& i) {
  std::string text = std::string(format_line) + "\nnode_id " + hex(i.id.value) + "\nuuid " + i.uuid + "\ndatacenter " +
                     i.datacenter + "\ncluster_id " + hex(i.cluster_id) + "\n";
  return write_durably(path + "/identity", text);
}

result<identity> open_data_directory(const std::string& path, const std::string& configured_uuid,
                                     const std::string& datacenter) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec)
    return failure{"cannot create data_dir " + path + ": " + ec.message()};
  const auto file = path + "/identity";
  if (fs::exists(file, ec)) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    auto found = parse(file, text.str());
    if (!found)
      return found;
    if (found->datacenter != datacenter)
      return failure{"data_dir " + path + " belongs to datacenter " + found->datacenter + ", not " + datacenter +
                     ": correct the configuration, or use another data_dir"};
    if (!configured_uuid.empty() && configured_uuid != found->uuid)
      return failure{"data_dir " + path + " belongs to node_id " + found->uuid + ", not " + configured_uuid +
                     ": correct the configuration, or use another data_dir"};
    return found;
  }
  static constexpr const char* expected[] = {"identity.new", "node-id", "node-id.new", "lost+found"};
  for (const auto& entry : fs::directory_iterator(path, ec)) {
    const auto name = entry.path().filename().string();
    if (std::find(std::begin(expected), std::end(expected), name) == std::end(expected))
      return failure{"data_dir " + path + " has no identity file but contains '" + name +
                     "': it is not Belay's or has lost its identity. Use an empty directory; nothing was changed"};
  }
  if (ec)
    return failure{"cannot read data_dir " + path + ": " + ec.message()};
  identity born;
  born.id = node_id{random_u64()};
  born.uuid = configured_uuid.empty() ? random_uuid() : configured_uuid;
  born.datacenter = datacenter;
  if (auto s = write_durably(path + "/node-id", born.uuid); !s)
    return failure{s.error()};
  if (auto s = save_identity(path, born); !s)
    return failure{s.error()};
  return born;
}

} // namespace belay::actors
