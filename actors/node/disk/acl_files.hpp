#pragma once
// What a data directory keeps for ACLs: the tokens of this server that clients have set, and the operator's word that the
// first token may be made once more (docs/contract/10, section 5). Both calls that write block for the disk.

#include "actors/gateway/http_gateway.hpp"
#include "actors/gateway/requests/agent_tokens.hpp"
#include "actors/node/config/node_config.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/result.hpp"

#include <string>

namespace belay::actors {

/// `acl-tokens.json`, Consul's: an object of texts, those that are empty left out. For nobody else to read.
std::string agent_tokens_file(const std::string& data_dir);
/// No such file: all are empty. @returns a failure that says what to do: damaged, no permission.
result<agent_token_values> read_agent_tokens(const std::string& data_dir);
/// Replaces it durably.
status save_agent_tokens(const std::string& data_dir, const agent_token_values& tokens);

agent_token_values tokens_of(const acl_config& acl);
/// Those of the configuration, and of clients if the disk keeps them.
result<std::shared_ptr<agent_tokens>> open_agent_tokens(const node_config& config);
access_files access_files_of(const node_config& config, const std::shared_ptr<const agent_tokens>& tokens);

/// `acl-bootstrap-reset`: a number. Zero: there is no such file, or something else in it, which the log is told.
log_index read_bootstrap_reset(const std::string& data_dir);
/// It need not be there.
void remove_bootstrap_reset(const std::string& data_dir);

} // namespace belay::actors
