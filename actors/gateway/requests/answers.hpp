#pragma once
// What other actors have found out or decided, as the HTTP answer to the exchange that asked for it.

#include "actors/gateway/requests/exchange.hpp"

#include <optional>

namespace belay::actors {

/// To a command, or to a renewal that found no leader.
http::response answer_to(const exchange& e, write_result& r);
/// To a renewal of a session.
http::response answer_to(const exchange& e, const renew_result& r);
/// To a read of the replicated state.
http::response answer_to(const exchange& e, read_result& r);
/// To a read that was refused, or that nobody could answer; nullopt: it was answered.
std::optional<http::response> refusal_in(const read_result& r);
/// To a request to the agent.
http::response answer_to(const exchange& e, const agent_answer& a);

} // namespace belay::actors
