#include "actors/node/disk/data_directory.hpp"

#include "actors/node/disk/sealed_lines.hpp"
#include "protocol/base/bytes.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/uuid.hpp"
#include "storage/advice.hpp"

#include <sys/random.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

namespace belay::actors {

namespace fs = std::filesystem;

namespace {

constexpr auto format_line = "belay-data-directory 1";
using storage::start_empty;
constexpr auto promise_file = "/formation";
constexpr auto left_file = "/left";

/// nullopt: there is no such file.
result<std::optional<std::string>> read_whole(storage::file_system& files, const std::string& file) {
  auto text = files.read_if_there(file);
  if (!text)
    return failure{"cannot read " + file + ": " + text.error() +
                   ". Nothing indicates damage: give the user of this process access to it. Nothing was changed"};
  return text;
}

/// Files from before the checksum are read, too, and an older program ignores it.
bool has_checksum(const std::string& text) {
  return text.find(checksum_line) != std::string::npos;
}

result<identity> parse(const std::string& file, const std::string& text) {
  if (const auto end = text.find(checksum_line); end != std::string::npos && text != sealed(text.substr(0, end)))
    return failure{file + " is damaged (wrong checksum): " + start_empty};
  std::istringstream in(text);
  std::string line;
  identity i;
  if (!std::getline(in, line) || line != format_line)
    return failure{file + " is damaged, or of a newer version (the first line is not '" + format_line +
                   "'): " + start_empty};
  std::string name, value;
  std::optional<std::uint64_t> id, cluster;
  while (in >> name >> value) {
    if (name == "node_id")
      id = from_hex(value);
    else if (name == "uuid")
      i.uuid = value;
    else if (name == "datacenter")
      i.datacenter = value;
    else if (name == "cluster_id")
      cluster = from_hex(value);
  }
  if (id.value_or(0) == 0 || !cluster || i.uuid.size() != uuid_characters || i.datacenter.empty())
    return failure{file + " is damaged: " + start_empty};
  i.id = node_id{*id};
  i.cluster_id = *cluster;
  return i;
}

} // namespace

status write_durably(storage::file_system& files, const std::string& path, const std::string& text) {
  if (auto s = storage::replace_file(files, path, text, true); !s)
    return s;
  return files.sync_directory(fs::path(path).parent_path().string());
}

std::uint64_t random_u64() {
  std::uint64_t v = 0;
  while (v == 0)
    INVARIANT(getrandom(&v, sizeof v, 0) == sizeof v);
  return v;
}

std::string random_uuid() {
  return uuid_of(random_u64(), random_u64());
}

status save_identity(const std::string& path, const identity& i, storage::file_system& files) {
  const auto lines = std::string(format_line) + "\nnode_id " + to_hex(i.id.value) + "\nuuid " + i.uuid +
                     "\ndatacenter " + i.datacenter + "\ncluster_id " + to_hex(i.cluster_id) + "\n";
  return write_durably(files, path + "/identity", sealed(lines));
}

result<identity> read_identity(const std::string& path, storage::file_system& files) {
  const auto file = path + "/identity";
  const auto text = read_whole(files, file);
  if (!text)
    return text.reason();
  if (!*text) {
    const auto names = files.list(path);
    return failure{names ? path + " is not a data directory: it has no identity file"
                         : "cannot read the data directory " + path + ": " + names.error()};
  }
  return parse(file, **text);
}

result<identity> open_data_directory(const std::string& path, const std::string& configured_uuid,
                                     const std::string& datacenter) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec)
    return failure{"cannot create data_dir " + path + ": " + ec.message()};
  return open_data_directory(path, configured_uuid, datacenter, storage::posix_file_system(), random_u64);
}

result<identity> open_data_directory(const std::string& path, const std::string& configured_uuid,
                                     const std::string& datacenter, storage::file_system& files,
                                     const std::function<std::uint64_t()>& random) {
  const auto file = path + "/identity";
  const auto text = read_whole(files, file);
  if (!text)
    return text.reason();
  if (*text) {
    auto found = parse(file, **text);
    if (!found)
      return found;
    if (found->datacenter != datacenter)
      return failure{"data_dir " + path + " belongs to datacenter " + found->datacenter + ", not " + datacenter +
                     ": correct the configuration, or use another data_dir"};
    if (!configured_uuid.empty() && configured_uuid != found->uuid)
      return failure{"data_dir " + path + " belongs to node_id " + found->uuid + ", not " + configured_uuid +
                     ": correct the configuration, or use another data_dir"};
    if (!has_checksum(**text))
      (void)save_identity(path, *found, files); // without space for it the next start tries again
    // The names of this directory may be in memory only: a process may have ended after a rename.
    if (auto s = files.sync_directory(path); !s)
      return s.reason();
    return found;
  }
  static constexpr const char* expected[] = {"identity.new", "node-id", "node-id.new", "lost+found"};
  const auto names = files.list(path);
  if (!names)
    return failure{"cannot read data_dir " + path + ": " + names.error()};
  for (const auto& name : *names)
    if (std::find(std::begin(expected), std::end(expected), name) == std::end(expected))
      return failure{"data_dir " + path + " has no identity file but contains '" + name +
                     "': it is not a data directory of Belay, or has lost its identity. Use an empty directory. "
                     "Nothing was changed"};
  identity born;
  born.id = node_id{random()};
  born.uuid = configured_uuid.empty() ? random_uuid() : configured_uuid;
  born.datacenter = datacenter;
  if (auto s = write_durably(files, path + "/node-id", born.uuid); !s)
    return s.reason();
  if (auto s = save_identity(path, born, files); !s)
    return s.reason();
  return born;
}

result<raft::promise> load_promise(const std::string& path, storage::file_system& files) {
  const auto text = read_whole(files, path + promise_file);
  if (!text)
    return text.reason();
  if (!*text)
    return raft::promise{};
  auto found = raft::decode_promise(**text);
  if (!found)
    return failure{path + promise_file + " is damaged: " + start_empty};
  return std::move(*found);
}

result<bool> has_left(const std::string& path, storage::file_system& files) {
  const auto text = read_whole(files, path + left_file);
  if (!text)
    return text.reason();
  return text->has_value();
}

status note_left(const std::string& path, bool left, storage::file_system& files) {
  const auto there = has_left(path, files);
  if (!there)
    return there.reason();
  if (*there == left)
    return done{};
  if (left)
    return write_durably(files, path + left_file, "this server has left its cluster\n");
  if (auto s = files.remove(path + left_file); !s)
    return s;
  return files.sync_directory(path);
}

status save_promise(const std::string& path, const raft::promise& p, storage::file_system& files) {
  return write_durably(files, path + promise_file, raft::encode(p));
}

} // namespace belay::actors
