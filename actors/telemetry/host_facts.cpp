#include "actors/telemetry/host_facts.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <dirent.h>
#include <sys/statfs.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

namespace belay::actors {

namespace {

using texts = std::map<std::string, std::string, std::less<>>;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '"'))
    s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '"'))
    s.remove_suffix(1);
  return s;
}

/// Lines of the form NAME SEPARATOR VALUE; if names are equal, the first one counts.
texts named_lines(std::string_view text, char separator) {
  texts all;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);)
    if (const auto at = line.find(separator); at != line.npos)
      all.emplace(trimmed(std::string_view(line).substr(0, at)), trimmed(std::string_view(line).substr(at + 1)));
  return all;
}

/// The number at the start of a text; 0: none.
std::uint64_t number_in(std::string_view text) {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

std::string_view value_in(const texts& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string_view() : std::string_view(found->second);
}

void append_count(std::string& out, std::string_view name, std::uint64_t value) {
  go_compat::append_json_name(out, name);
  go_compat::append_number(out, value);
}

void append_real(std::string& out, std::string_view name, double value) {
  char text[40];
  go_compat::append_json_name(out, name);
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

double percent(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

/// Collects the files that cannot be read.
class reader {
public:
  std::string read(const char* file) {
    std::ifstream in(file);
    if (!in)
      errors_.push_back(std::string(file) + ": " + std::strerror(errno));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void complain(std::string what) { errors_.push_back(std::move(what)); }
  const std::vector<std::string>& errors() const { return errors_; }

private:
  std::vector<std::string> errors_;
};

/// Number of processes: the folders of /proc that are numbers.
std::uint64_t count_processes() {
  std::uint64_t n = 0;
  if (auto* all = ::opendir("/proc")) {
    while (const auto* each = ::readdir(all))
      n += each->d_name[0] >= '0' && each->d_name[0] <= '9' ? 1 : 0;
    ::closedir(all);
  }
  return n;
}

std::string machine_json(reader& files) {
  utsname system{};
  ::uname(&system);
  const auto release = named_lines(files.read("/etc/os-release"), '=');
  const auto stat = named_lines(files.read("/proc/stat"), ' ');
  const auto version = files.read("/etc/debian_version");
  auto id = std::string(trimmed(files.read("/etc/machine-id").substr(0, 32)));
  if (id.size() == 32)
    for (const std::size_t dash : {20, 16, 12, 8})
      id.insert(dash, "-");
  const auto platform = value_in(release, "ID");
  const bool debian = platform == "debian" && !version.empty();
  std::string out = "{";
  go_compat::append_json_member(out, "hostname", system.nodename);
  append_count(out, "uptime", number_in(files.read("/proc/uptime")));
  append_count(out, "bootTime", number_in(value_in(stat, "btime")));
  append_count(out, "procs", count_processes());
  go_compat::append_json_member(out, "os", "linux");
  go_compat::append_json_member(out, "platform", platform);
  go_compat::append_json_member(out, "platformFamily",
                                value_in(release, "ID_LIKE").empty() ? platform : value_in(release, "ID_LIKE"));
  go_compat::append_json_member(out, "platformVersion",
                                debian ? std::string_view(version).substr(0, version.find('\n'))
                                       : value_in(release, "VERSION_ID"));
  go_compat::append_json_member(out, "kernelVersion", system.release);
  go_compat::append_json_member(out, "kernelArch", system.machine);
  go_compat::append_json_member(out, "virtualizationSystem", "");
  go_compat::append_json_member(out, "virtualizationRole", "");
  go_compat::append_json_member(out, "hostid", id);
  return out += '}';
}

std::string_view file_system_name(std::uint64_t magic) {
  // statfs(2)
  constexpr std::pair<std::uint64_t, std::string_view> names[] = {
      {0xef53, "ext2/ext3"}, {0x01021994, "tmpfs"},     {0x58465342, "xfs"}, {0x9123683e, "btrfs"},
      {0x6969, "nfs"},       {0x794c7630, "overlayfs"}, {0x2fc12fc1, "zfs"},
  };
  for (const auto& [number, name] : names)
    if (number == magic)
      return name;
  return "";
}

std::string disk_json(const std::string& path, reader& files) {
  struct statfs s {};
  if (::statfs(path.c_str(), &s) != 0)
    files.complain(path + ": " + std::strerror(errno));
  const auto block = static_cast<std::uint64_t>(s.f_bsize);
  const auto used = (s.f_blocks - s.f_bfree) * block, available = s.f_bavail * block;
  std::string out = "{";
  go_compat::append_json_member(out, "path", path);
  go_compat::append_json_member(out, "fstype", file_system_name(static_cast<std::uint64_t>(s.f_type)));
  append_count(out, "total", s.f_blocks * block);
  append_count(out, "free", available);
  append_count(out, "used", used);
  append_real(out, "usedPercent", percent(used, used + available));
  append_count(out, "inodesTotal", s.f_files);
  append_count(out, "inodesUsed", s.f_files - s.f_ffree);
  append_count(out, "inodesFree", s.f_ffree);
  append_real(out, "inodesUsedPercent", percent(s.f_files - s.f_ffree, s.f_files));
  return out += '}';
}

void append_processor(std::string& out, const texts& facts) {
  out += out.size() > 1 ? ",{" : "{";
  append_count(out, "cpu", number_in(value_in(facts, "processor")));
  go_compat::append_json_member(out, "vendorId", value_in(facts, "vendor_id"));
  go_compat::append_json_member(out, "family", value_in(facts, "cpu family"));
  go_compat::append_json_member(out, "model", value_in(facts, "model"));
  append_count(out, "stepping", number_in(value_in(facts, "stepping")));
  go_compat::append_json_member(out, "physicalId", value_in(facts, "physical id"));
  go_compat::append_json_member(out, "coreId", value_in(facts, "core id"));
  append_count(out, "cores", 1);
  go_compat::append_json_member(out, "modelName", value_in(facts, "model name"));
  const auto mhz = value_in(facts, "cpu MHz");
  double clock = 0;
  std::from_chars(mhz.data(), mhz.data() + mhz.size(), clock);
  append_real(out, "mhz", clock);
  append_count(out, "cacheSize", number_in(value_in(facts, "cache size")));
  std::istringstream words{std::string(value_in(facts, "flags"))};
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  go_compat::append_json_name(out, "flags");
  go_compat::append_json_strings(out, flags);
  go_compat::append_json_member(out, "microcode", value_in(facts, "microcode"));
  out += '}';
}

} // namespace

std::string memory_json(std::string_view meminfo) {
  const auto facts = named_lines(meminfo, ':');
  const auto bytes = [&](std::string_view name) {
    const auto text = value_in(facts, name);
    return number_in(text) * (text.ends_with(" kB") ? 1024 : 1);
  };
  const auto total = bytes("MemTotal"), free = bytes("MemFree"), buffers = bytes("Buffers");
  const auto cached = bytes("Cached") + bytes("SReclaimable");
  const auto used = total - std::min(total, free + buffers + cached);
  std::string out = "{";
  append_count(out, "total", total);
  append_count(out, "available", bytes("MemAvailable"));
  append_count(out, "used", used);
  append_real(out, "usedPercent", percent(used, total));
  append_count(out, "free", free);
  append_count(out, "active", bytes("Active"));
  append_count(out, "inactive", bytes("Inactive"));
  append_count(out, "wired", 0); // this and the next value exist on other systems only
  append_count(out, "laundry", 0);
  append_count(out, "buffers", buffers);
  append_count(out, "cached", cached);
  constexpr std::string_view as_they_are[] = {
      "Writeback",    "Dirty",       "WritebackTmp", "Shmem",           "Slab",           "SReclaimable",
      "SUnreclaim",   "PageTables",  "SwapCached",   "CommitLimit",     "Committed_AS",   "HighTotal",
      "HighFree",     "LowTotal",    "LowFree",      "SwapTotal",       "SwapFree",       "Mapped",
      "VmallocTotal", "VmallocUsed", "VmallocChunk", "HugePages_Total", "HugePages_Free", "Hugepagesize"};
  for (const auto name : as_they_are) {
    auto shown = name == "Shmem" ? std::string("shared") : std::string(name);
    std::erase(shown, '_');
    append_count(out, lower_case(std::string_view(shown)), bytes(name));
  }
  return out += '}';
}

std::string processors_json(std::string_view cpuinfo) {
  std::string out = "[";
  while (!cpuinfo.empty()) { // an empty line follows each
    const auto end = std::min(cpuinfo.find("\n\n"), cpuinfo.size());
    const auto facts = named_lines(cpuinfo.substr(0, end), ':');
    cpuinfo.remove_prefix(std::min(end + 2, cpuinfo.size()));
    if (facts.contains("processor"))
      append_processor(out, facts);
  }
  return out += ']';
}

std::string host_json(const std::string& disk, std::int64_t now_ns) {
  reader files;
  std::string out = "{\"Memory\":" + memory_json(files.read("/proc/meminfo"));
  out += ",\"CPU\":" + processors_json(files.read("/proc/cpuinfo"));
  out += ",\"Host\":" + machine_json(files);
  out += ",\"Disk\":" + disk_json(disk, files);
  go_compat::append_json_name(out, "CollectionTime");
  go_compat::append_number(out, now_ns);
  go_compat::append_json_name(out, "Errors");
  if (files.errors().empty())
    out += "null";
  else
    go_compat::append_json_strings(out, files.errors());
  return out += '}';
}

} // namespace belay::actors
