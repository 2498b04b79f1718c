#include "actors/node/disk/peer_keyring.hpp"

#include "actors/node/disk/data_directory.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/tls/peer_key.hpp"
#include "protocol/base/mutants.hpp"

#include <boost/json.hpp>

#include <filesystem>

namespace belay::actors {

namespace json = boost::json;

namespace {

result<std::vector<std::string>> keys_of(const std::string& file, const std::string& text) {
  const failure wrong{file + ": not a JSON list of keys, such as [\"KEY\"]; the first key is the primary one"};
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

status write_file(const std::string& data_dir, const std::vector<std::string>& keys, storage::file_system& files) {
  const auto file = keyring_file(data_dir);
  const auto folder = std::filesystem::path(file).parent_path().string();
  if (auto made = files.make_directory(folder); !made)
    return made;
  return write_durably(files, file, json::serialize(json::value_from(keys)));
}

} // namespace

std::string keyring_file(const std::string& data_dir) {
  return data_dir + "/serf/local.keyring";
}

result<std::vector<std::string>> keys_in_force(const std::string& data_dir, const std::string& encrypt,
                                               storage::file_system& files) {
  const auto file = keyring_file(data_dir);
  const auto text = files.read_if_there(file);
  if (!text)
    return failure{"cannot read " + file + ": " + text.error()};
  if (!*text) {
    if (encrypt.empty())
      return std::vector<std::string>{};
    if (auto s = write_file(data_dir, {encrypt}, files); !s)
      return s.reason();
    return std::vector<std::string>{encrypt};
  }
  return keys_of(file, **text);
}

forward::keyring_answer operate_keyring_of(const std::string& data_dir, tls::credential_store& in_force,
                                           forward::keyring_operation op, storage::file_system& files) {
  const auto now = in_force.now();
  std::vector<std::string> keys;
  for (const auto& k : now->keys())
    keys.push_back(k.text);
  const auto before = keys;
  std::string identity; // name of a key in logs
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
  if (!data_dir.empty() && !MUTANT(keys_forgotten_by_restart))
    if (const auto s = write_file(data_dir, keys, files); !s)
      return {false, s.error(), {}, false};
  in_force.replace(*next);
  log::info("keyring", "keys of this server changed by an operator",
            {{"operation", forward::name_of(op.verb)}, {"key", identity}, {"keys", keys.size()}});
  return answer;
}

} // namespace belay::actors
