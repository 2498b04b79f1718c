#pragma once
// Consul's DATA_DIR/serf/local.keyring: the valid keys of `encrypt`, a JSON list of base64
// texts; the first one is used to dial. It makes it possible to replace a key, on all servers by
// an operator's request (protocol/forward/keyring.hpp) or on each by hand (docs/operate/security.md).

#include "actors/tls/credential_store.hpp"
#include "protocol/base/result.hpp"
#include "protocol/forward/keyring.hpp"
#include "storage/file_system.hpp"

#include <string>
#include <vector>

namespace belay::actors {

std::string keyring_file(const std::string& data_dir);

/// The keys of the file; if missing it is created from `encrypt`, and without that there are
/// no keys.
/// @param encrypt of the configuration; ignored, as in Consul, if the file exists
/// @returns a failure that names the file: unreadable, no list of keys, empty.
result<std::vector<std::string>> keys_in_force(const std::string& data_dir, const std::string& encrypt,
                                               storage::file_system& files = storage::posix_file_system());

/// Lists or changes the keys in force: in the file first, for a restart. Blocks on the disk.
/// @param data_dir empty: no file is kept (disable_keyring_file), and a restart uses the
/// configuration
forward::keyring_answer operate_keyring_of(const std::string& data_dir, tls::credential_store& in_force,
                                           forward::keyring_operation op,
                                           storage::file_system& files = storage::posix_file_system());

} // namespace belay::actors
