#pragma once
// Encoding of services and checks registered with the agent, one file for each.

#include "protocol/agent/local_agent.hpp"

namespace belay::wire {

/// `now_ms`: wall clock. A TTL check's result is valid until then plus TTL, even after a restart.
std::string encode_registration(const agent::stored_service& s);
std::string encode_registration(const agent::stored_check& c, std::uint64_t now_ms);

using registration = std::variant<agent::stored_service, agent::stored_check>;
/// @returns an error for damaged bytes and other versions.
result<registration> decode_registration(std::string_view bytes, std::uint64_t now_ms);

} // namespace belay::wire
