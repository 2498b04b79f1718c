#pragma once
// Services and checks as clients and configuration files define them for an agent (docs/contract/09, sections 2 and 3).

#include "protocol/agent/definitions.hpp"
#include "protocol/golang/json_input.hpp"

namespace belay::http {

/// An ID that is not given is the name.
void decode_check_definition(golang::json_decoder& d, const boost::json::value& v, agent::check_definition& out);
/// `Check` and `Checks`, too. Neither completed nor checked.
void decode_service_definition(golang::json_decoder& d, const boost::json::value& v, agent::service_definition& out);

/// Kinds of checks that this server does not know how to run, in the words of the refusal.
std::optional<std::string> unsupported_kind(const boost::json::value& check);

} // namespace belay::http
