#pragma once
// Files for ACLs in a data directory: the tokens that clients have set for this server, and the
// permission to create the first token once more (docs/contract/10, section 5). Writing blocks on
// the disk.

#include "actors/gateway/http_gateway.hpp"
#include "actors/gateway/requests/agent_tokens.hpp"
#include "actors/node/config/node_config.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <string>

namespace belay::actors {

/// `acl-tokens.json`, as in Consul: an object of non-empty texts. Readable by its owner only.
std::string agent_tokens_file(const std::string& data_dir);
/// No such file: all are empty. @returns a failure that says what to do: damaged, no permission.
result<agent_token_values> read_agent_tokens(const std::string& data_dir);
/// Replaces it durably.
status save_agent_tokens(const std::string& data_dir, const agent_token_values& tokens);

agent_token_values tokens_of(const acl_config& acl);
/// The tokens of the configuration, and those of clients if the disk keeps them.
result<std::shared_ptr<agent_tokens>> open_agent_tokens(const node_config& config);
access_files access_files_of(const node_config& config, const std::shared_ptr<const agent_tokens>& tokens);

/// `acl-bootstrap-reset`: a number. Zero: no such file, or other content, which is logged.
log_index read_bootstrap_reset(const std::string& data_dir);
/// Removes the file, if it exists.
void remove_bootstrap_reset(const std::string& data_dir);

} // namespace belay::actors
