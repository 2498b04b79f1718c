#pragma once
// Applies a configuration that was read again to a running node: all of it, or nothing on an error.

#include "actors/live_limit.hpp"
#include "actors/node/config/node_config.hpp"
#include "actors/tls/credential_store.hpp"
#include "protocol/base/result.hpp"
#include "protocol/forward/keyring.hpp"
#include "storage/file_system.hpp"

#include <functional>
#include <memory>
#include <mutex>

namespace belay::actors {

/// Reads the sources of the configuration again. A failure has the text of config_error.
using config_reader = std::function<result<parsed_command_line>()>;

/// Loads the files named in the configuration, and the keyring of the data directory.
/// @param data file system of the data directory
result<tls::credentials_ptr> peer_credentials_of(const node_config& config,
                                                 storage::file_system& data = storage::posix_file_system());
/// Null: there is no HTTPS.
/// @param before in force until now; null: nothing
result<tls::https_credentials_ptr> https_credentials_of(const node_config& config,
                                                        const tls::https_credentials* before);
void warn_of_open_port(const node_config& config, const tls::credentials& in_force);

/// The running configuration with the reloadable parts (config_key::reloaded) from `next`.
node_config with_reloaded(node_config running, const node_config& next);

class reloader {
public:
  /// What changes while the node runs.
  struct parts {
    std::shared_ptr<tls::credential_store> credentials;
    std::shared_ptr<tls::https_credential_store> https; ///< null: no HTTPS
    live_limit http_connections_per_client, peer_connections_per_host;
    std::function<void(const acl_config&)> change_tokens; ///< cannot fail
    /// Services, checks and node_meta. Blocks; a failure if nothing was changed.
    std::function<status(const node_config&)> change_definitions;
    storage::file_system& data = storage::posix_file_system(); ///< file system of the data directory
  };

  /// @param started the configuration that the node runs with
  reloader(parsed_command_line started, config_reader read, parts what);

  /// Any thread; one at a time. Logs changed keys that need a restart, without their values.
  /// @returns why nothing was changed; this is also logged
  status reload();
  /// Any thread; not during a reload.
  forward::keyring_answer operate_keyring(const forward::keyring_operation& op);

private:
  status try_reload();

  std::mutex busy_;
  node_config config_;                         ///< in force
  const boost::json::object started_settings_; ///< in force, the part that needs a restart
  const config_reader read_;
  const parts parts_;
};

} // namespace belay::actors
