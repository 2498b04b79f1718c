#include "actors/node/reloader.hpp"

#include "actors/node/config/keys.hpp"
#include "actors/node/disk/peer_keyring.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/telemetry/old_names.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::actors {

node_config with_reloaded(node_config running, const node_config& next) {
  running.log = next.log;
  running.services = next.services;
  running.checks = next.checks;
  running.node_meta = next.node_meta;
  running.http_max_conns_per_client = next.http_max_conns_per_client;
  running.rpc_max_conns_per_client = next.rpc_max_conns_per_client;
  running.disable_keyring_file = next.disable_keyring_file;
  const auto datacenter = running.peer_tls.datacenter;
  running.peer_tls = next.peer_tls;
  running.peer_tls.datacenter = datacenter;
  running.https = next.https;
  running.acl.of_requests = next.acl.of_requests;
  running.acl.agent = next.acl.agent;
  running.acl.agent_master = next.acl.agent_master;
  running.acl.replication = next.acl.replication;
  return running;
}

result<tls::credentials_ptr> peer_credentials_of(const node_config& config, storage::file_system& data) {
  auto s = config.peer_tls;
  if (!config.disable_keyring_file) {
    const auto configured = s.encrypt.empty() ? std::string() : s.encrypt.front();
    auto keys = keys_in_force(config.data_dir, configured, data);
    if (!keys)
      return keys.reason();
    if (!configured.empty() && keys->front() != configured)
      log::warn("node", "keyring of the data directory takes precedence over encrypt in the configuration",
                {{"keyring", keyring_file(config.data_dir)}});
    s.encrypt = std::move(*keys);
  }
  return tls::credentials::load(s);
}

result<tls::https_credentials_ptr> https_credentials_of(const node_config& config,
                                                        const tls::https_credentials* before) {
  if (config.https_listeners.empty())
    return tls::https_credentials_ptr();
  return tls::https_credentials::load(config.https, before);
}

void warn_of_open_port(const node_config& config, const tls::credentials& in_force) {
  if (!in_force.accepts_plaintext() || config.dev)
    return;
  if (config.acl.enabled)
    log::warn(
        "node", "tokens of clients are not encrypted between servers",
        {{"server_port", config.server_port}, {"advice", "use encrypt or certificates: docs/operate/security.md"}});
  log::warn("node", "servers are accepted without credentials: any process that reaches the server port can act as one",
            {{"server_port", config.server_port},
             {"advice", "use encrypt or certificates: docs/operate/security.md"},
             {"allow_unauthenticated_servers", config.allow_unauthenticated_servers ? 1 : 0}});
}

reloader::reloader(parsed_command_line started, config_reader read, parts what)
    : config_(std::move(started.config)), started_settings_(std::move(started.settings)), read_(std::move(read)),
      parts_(std::move(what)) {}

status reloader::reload() {
  std::lock_guard hold(busy_);
  auto s = try_reload();
  if (!s)
    log::error("node", "configuration not reloaded; nothing changed", {{"reason", s.error()}});
  return s;
}

status reloader::try_reload() {
  auto read = read_();
  if (!read)
    return read.reason();
  auto next = with_reloaded(config_, read->config);
  auto credentials = peer_credentials_of(next, parts_.data);
  if (!credentials)
    return credentials.reason();
  auto https = https_credentials_of(next, parts_.https != nullptr ? parts_.https->now().get() : nullptr);
  if (!https)
    return https.reason();
  if (auto wrong = log::configure(next.log); !wrong.empty())
    return failure{wrong};
  // The last step that can fail.
  if (auto s = parts_.change_definitions(next); !s) {
    config_ = MUTANT(refused_reload_forgets) ? with_reloaded(config_, node_config()) : config_;
    if (auto wrong = log::configure(MUTANT(refused_reload_keeps_its_log) ? next.log : config_.log); !wrong.empty())
      log::error("node", "log settings not restored", {{"reason", wrong}});
    return s;
  }
  if (!parts_.credentials->now()->accepts_plaintext())
    warn_of_open_port(next, **credentials);
  parts_.credentials->replace(*credentials);
  if (parts_.https != nullptr)
    parts_.https->replace(*https);
  parts_.change_tokens(next.acl);
  parts_.http_connections_per_client.change(static_cast<std::size_t>(next.http_max_conns_per_client));
  parts_.peer_connections_per_host.change(static_cast<std::size_t>(next.rpc_max_conns_per_client));
  config_ = std::move(next);
  for (const auto& line : read->warnings)
    log::warn("agent", line);
  for (const auto* row : read->old_names)
    warn_of_old_name(*row);
  for (const auto& key : keys_for_the_next_start(started_settings_, read->settings))
    log::warn("node", "changed setting takes effect at the next start", {{"key", key}});
  log::info("node", "configuration reloaded");
  return done{};
}

forward::keyring_answer reloader::operate_keyring(const forward::keyring_operation& op) {
  std::lock_guard hold(busy_);
  return operate_keyring_of(config_.disable_keyring_file ? std::string() : config_.data_dir, *parts_.credentials, op,
                            parts_.data);
}

} // namespace belay::actors
