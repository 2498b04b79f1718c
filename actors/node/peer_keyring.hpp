#pragma once
// Consul's DATA_DIR/serf/local.keyring: the keys of `encrypt` that are valid, as a JSON list of base64 texts; the first one is
// used to dial. With it a key is replaced server by server (docs/security.md).

#include "protocol/base/result.hpp"

#include <string>
#include <vector>

namespace belay::actors {

std::string keyring_file(const std::string& data_dir);

/// The keys of the file; if there is none it is made of `encrypt`, and without that there are no keys and no file.
/// @param encrypt of the configuration; ignored, as in Consul, where the file is there
/// @returns a failure that names the file: unreadable, no list of keys, empty.
result<std::vector<std::string>> keys_in_force(const std::string& data_dir, const std::string& encrypt);

} // namespace belay::actors
