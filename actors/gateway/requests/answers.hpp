#pragma once
// Turns responses of other actors into the HTTP answer of the exchange that requested them.

#include "actors/gateway/requests/exchange.hpp"

#include <optional>

namespace belay::actors {

/// The response to a command, or to a renewal that found no leader.
http::response answer_to(const exchange& e, write_result& r);
/// The response to a renewal of a session.
http::response answer_to(const exchange& e, const renew_result& r);
/// The response to a read of the replicated state.
http::response answer_to(const exchange& e, read_result& r);
/// The response to a read that was rejected or failed; nullopt: it succeeded.
std::optional<http::response> refusal_in(const read_result& r);
/// The response to a request to the agent.
http::response answer_to(const exchange& e, const agent_answer& a);

} // namespace belay::actors
