#pragma once
// Decodes services and checks for an agent (docs/contract/09, sections 2 and 3).

#include "protocol/agent/definitions.hpp"
#include "protocol/go_compat/json_input.hpp"

namespace belay::http {

/// A missing ID is replaced by the name.
void decode_check_definition(go_compat::json_decoder& d, const boost::json::value& v, agent::check_definition& out);
/// `Check` and `Checks`, too. Does not fill in defaults or validate.
void decode_service_definition(go_compat::json_decoder& d, const boost::json::value& v, agent::service_definition& out);

/// The error for a kind of check that this server cannot run; nullopt: none.
std::optional<std::string> unsupported_kind(const boost::json::value& check);

} // namespace belay::http
