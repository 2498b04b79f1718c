#include "actors/node/peer_keyring.hpp"

#include "actors/node/config/file_text.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/tls/peer_key.hpp"
#include "storage/file_system.hpp"

#include <boost/json.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

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

status write_file(const std::string& data_dir, const std::vector<std::string>& keys) {
  const auto file = keyring_file(data_dir);
  const auto folder = std::filesystem::path(file).parent_path().string();
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return failure{"cannot create " + folder + ": " + std::strerror(errno)};
  const mode_t before = ::umask(0077); // threads that make files make private ones, too, or have not begun
  auto& files = storage::posix_file_system();
  auto written = storage::replace_file(files, file, json::serialize(json::value_from(keys)), true);
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
  const auto text = read_file_text_if_there(file);
  if (!text)
    return text.why();
  if (!*text) {
    if (encrypt.empty())
      return std::vector<std::string>{};
    if (auto s = write_file(data_dir, {encrypt}); !s)
      return s.why();
    return std::vector<std::string>{encrypt};
  }
  return keys_of(file, **text);
}

forward::keyring_answer operate_keyring_of(const std::string& data_dir, tls::credential_store& in_force,
                                           forward::keyring_operation op) {
  const auto now = in_force.now();
  std::vector<std::string> keys;
  for (const auto& k : now->keys())
    keys.push_back(k.text);
  const auto before = keys;
  std::string identity; // by which logs name a key
  if (op.verb != forward::keyring_verb::list) {
    const auto wanted = tls::derive_peer_key(op.key);
    op.key = wanted ? wanted->text : std::string();
    identity = wanted ? wanted->identity : "none";
  }
  auto answer = forward::operate_on(keys, op);
  if (!answer.ok || keys == before)
    return answer;
  const auto next = tls::credentials::with_keys(*now, keys);
  if (!next)
    return {false, next.error(), {}, false};
  if (!data_dir.empty())
    if (const auto s = write_file(data_dir, keys); !s)
      return {false, s.error(), {}, false};
  in_force.replace(*next);
  log::info("keyring", "the keys of this server were changed by an operator",
            {{"operation", forward::name_of(op.verb)}, {"key", identity}, {"keys", keys.size()}});
  return answer;
}

} // namespace belay::actors
