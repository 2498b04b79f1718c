#pragma once
// Parses HCL text of a configuration: the keys are those of JSON, as in Consul 1.8.7 (docs/reference/hcl.md).

#include "actors/node/config/text.hpp"

#include <string_view>

namespace belay::actors {

/// Returns the same as parse_config_json() for the same configuration. Text that begins with `{` is
/// JSON. Blocks become objects. Where lists of objects belong (`services`, `checks`, `watches`
/// etc., as in Consul's `agent/config/config.go`), each block is an element; others occur once.
/// @returns values; or hcl's error, e.g. `At 1:11: object expected closing RBRACE got: EOF`
config_text_result parse_config_hcl(std::string_view text);

} // namespace belay::actors
