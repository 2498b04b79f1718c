#include "actors/node/peer_keyring.hpp"

#include "actors/tls/peer_key.hpp"
#include "storage/file_system.hpp"

#include <boost/json.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace belay::actors {

namespace json = boost::json;

namespace {

result<std::vector<std::string>> keys_of(const std::string& file, const std::string& text) {
  const failure wrong{file + ": not a JSON list of keys, such as [\"KEY\"]; the first one is used to dial"};
  boost::system::error_code ec;
  const auto parsed = json::parse(text, ec);
  if (ec || !parsed.is_array() || parsed.get_array().empty())
    return wrong;
  std::vector<std::string> keys;
  for (const auto& k : parsed.get_array()) {
    if (!k.is_string())
      return wrong;
    keys.emplace_back(k.get_string());
    if (auto usable = tls::derive_peer_key(keys.back()); !usable)
      return failure{file + ": " + usable.error()};
  }
  return keys;
}

status make_file(const std::string& data_dir, const std::string& key) {
  const auto file = keyring_file(data_dir);
  const auto folder = std::filesystem::path(file).parent_path().string();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return failure{"cannot create " + folder + ": " + std::strerror(errno)};
  const mode_t before = ::umask(0077); // threads that make files come later, or make private ones, too
  auto& files = storage::posix_file_system();
  auto written = storage::replace_file(files, file, json::serialize(json::array{json::value(key)}), true);
  ::umask(before);
  if (!written)
    return written;
  return files.sync_directory(folder);
}

} // namespace

std::string keyring_file(const std::string& data_dir) {
  return data_dir + "/serf/local.keyring";
}

result<std::vector<std::string>> keys_in_force(const std::string& data_dir, const std::string& encrypt) {
  const auto file = keyring_file(data_dir);
  std::error_code ec;
  if (!std::filesystem::exists(file, ec)) {
    if (encrypt.empty())
      return std::vector<std::string>{};
    if (auto s = make_file(data_dir, encrypt); !s)
      return s.why();
    return std::vector<std::string>{encrypt};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in)
    return failure{file + ": " + std::strerror(errno)};
  std::ostringstream text;
  text << in.rdbuf();
  return keys_of(file, text.str());
}

} // namespace belay::actors
