#include "tests/harness/scratch.hpp"

#include <arpa/inet.h>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <netinet/in.h>
#include <random>
#include <set>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::harness {

scratch_folder::scratch_folder() {
  auto name = (std::filesystem::temp_directory_path() / "belay-test-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("cannot make a folder below " + name);
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  if (environment("BELAY_KEEP", "").empty())
    std::filesystem::remove_all(path_, ignored);
}

std::string scratch_folder::write(const std::string& name, const std::string& text) const {
  const auto file = *this / name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

std::vector<std::uint16_t> free_ports(std::size_t count) {
  static std::mutex guard;
  static std::set<std::uint16_t> given;
  static std::mt19937 random{std::random_device{}()};
  std::lock_guard lock(guard);
  std::vector<std::uint16_t> out;
  std::uniform_int_distribution<int> pick(15000, 32000);
  for (int attempt = 0; out.size() < count; ++attempt) {
    if (attempt > 10000)
      throw std::runtime_error("no free ports");
    auto port = static_cast<std::uint16_t>(pick(random));
    if (given.count(port))
      continue;
    bool free = true;
    for (int kind : {SOCK_STREAM, SOCK_DGRAM}) { // the reference's gossip uses both
      int fd = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
      sockaddr_in at{};
      at.sin_family = AF_INET;
      at.sin_port = htons(port);
      at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      free = free && bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
      close(fd);
    }
    if (free) {
      given.insert(port);
      out.push_back(port);
    }
  }
  return out;
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string file_tail(const std::filesystem::path& file, std::size_t bytes_max) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in)
    return {};
  auto size = static_cast<std::size_t>(in.tellg());
  auto from = size > bytes_max ? size - bytes_max : 0;
  std::string out(size - from, '\0');
  in.seekg(static_cast<std::streamoff>(from));
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  return out;
}

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

} // namespace belay::harness
