#pragma once
// Renders the results of agent requests (docs/contract/09, 13).

#include "protocol/http/request.hpp"

namespace belay::http {

response render_agent(const agent_request& request, const agent::reply& reply, const render_options& options);

} // namespace belay::http
