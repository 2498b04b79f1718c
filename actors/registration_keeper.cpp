#include "actors/registration_keeper.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace belay::actors {

namespace {

namespace fs = std::filesystem;

constexpr auto unfinished = ".new";

std::string system_error(const std::string& what, const std::string& path) {
  return what + " " + path + ": " + std::strerror(errno);
}

status write_file(const std::string& path, const std::string& bytes, bool durable) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0)
    return failure{system_error("cannot create", path)};
  std::size_t written = 0;
  while (written < bytes.size()) {
    const auto n = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    written += static_cast<std::size_t>(n);
  }
  const bool ok = written == bytes.size() && (!durable || ::fdatasync(fd) == 0);
  auto why = ok ? std::string() : system_error("cannot write", path);
  ::close(fd);
  if (!ok)
    return failure{std::move(why)};
  return done{};
}

status sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool ok = fd >= 0 && ::fsync(fd) == 0;
  auto why = ok ? std::string() : system_error("cannot sync", path);
  if (fd >= 0)
    ::close(fd);
  if (!ok)
    return failure{std::move(why)};
  return done{};
}

status replace(const std::string& path, const std::string& bytes, bool durable) {
  if (bytes.empty()) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return failure{system_error("cannot remove", path)};
    return done{};
  }
  if (auto s = write_file(path + unfinished, bytes, durable); !s)
    return s;
  if (::rename((path + unfinished).c_str(), path.c_str()) != 0)
    return failure{system_error("cannot rename to", path)};
  return done{};
}

} // namespace

registration_keeper::registration_keeper(caf::actor_config& config, wiring_ptr wires, std::string directory)
    : registration_keeper_actor::base(config), wires_(std::move(wires)), directory_(std::move(directory)) {}

registration_keeper_actor::behavior_type registration_keeper::make_behavior() {
  return {
      [this](const keep_registrations& k) { keep(k); },
      [this](stop_atom) { quit(); },
  };
}

void registration_keeper::keep(const keep_registrations& k) {
  registrations_kept answer{k.token, {}};
  const auto note = [&answer](const status& s) {
    if (!s && answer.error.empty())
      answer.error = s.error();
  };
  for (const auto& [name, bytes] : k.files)
    note(replace(directory_ + "/" + name, bytes, k.token != 0));
  if (k.token != 0)
    note(sync_directory(directory_));
  if (wires_->health && (k.token != 0 || !answer.error.empty()))
    send(wires_->health, std::move(answer));
}

result<std::vector<std::pair<std::string, std::string>>> open_registrations(const std::string& directory) {
  std::error_code wrong;
  fs::create_directories(directory, wrong);
  if (wrong)
    return failure{"cannot create " + directory + ": " + wrong.message()};
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& each : fs::directory_iterator(directory, wrong)) {
    const auto name = each.path().filename().string();
    if (each.path().extension() == unfinished) { // the node stopped before it was renamed
      std::error_code ignored;
      fs::remove(each.path(), ignored);
      continue;
    }
    std::ifstream in(each.path(), std::ios::binary);
    found.emplace_back(name, std::string(std::istreambuf_iterator<char>(in), {}));
    if (!in.good() && !in.eof())
      return failure{"cannot read " + each.path().string()};
  }
  if (wrong)
    return failure{"cannot read " + directory + ": " + wrong.message()};
  return found;
}

} // namespace belay::actors
