#pragma once
// HCL text of a configuration: the same keys as in JSON, read as Consul 1.8.7 reads them (docs/hcl.md).

#include "actors/node/config/text.hpp"

#include <string_view>

namespace belay::actors {

/// What parse_config_json() makes of the same configuration in JSON. A text that begins with `{` is JSON.
/// Blocks become objects. Where a list of objects is expected (`services`, `checks`, `watches` and so on, as in `agent/config/config.go` of
/// Consul), each block is an element; anywhere else a block may be given once.
/// @returns what it says; or hcl's complaint, which says where, e.g. `At 1:11: object expected closing RBRACE got: EOF`
config_text_result parse_config_hcl(std::string_view text);

} // namespace belay::actors
