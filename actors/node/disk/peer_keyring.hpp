#pragma once
// Consul's DATA_DIR/serf/local.keyring: the keys of `encrypt` that are valid, as a JSON list of base64 texts; the first one is
// used to dial. With it a key is replaced, on all servers by an operator's request (protocol/forward/keyring.hpp) or server by server
// by hand (docs/security.md).

#include "actors/tls/credential_store.hpp"
#include "protocol/base/result.hpp"
#include "protocol/forward/keyring.hpp"
#include "storage/file_system.hpp"

#include <string>
#include <vector>

namespace belay::actors {

std::string keyring_file(const std::string& data_dir);

/// The keys of the file; if there is none it is made of `encrypt`, and without that there are no keys and no file.
/// @param encrypt of the configuration; ignored, as in Consul, where the file is there
/// @returns a failure that names the file: unreadable, no list of keys, empty.
result<std::vector<std::string>> keys_in_force(const std::string& data_dir, const std::string& encrypt,
                                               storage::file_system& files = storage::posix_file_system());

/// Lists the keys in force or changes them: in the file first, so that a restart finds them. Blocks for the disk.
/// @param data_dir empty: no file is kept (disable_keyring_file), and a restart has what the configuration says
forward::keyring_answer operate_keyring_of(const std::string& data_dir, tls::credential_store& in_force,
                                           forward::keyring_operation op,
                                           storage::file_system& files = storage::posix_file_system());

} // namespace belay::actors
