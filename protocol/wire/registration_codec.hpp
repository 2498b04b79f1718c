#pragma once
// Bytes of services and checks that were registered with the agent, one file for each.

#include "protocol/agent/local_agent.hpp"

namespace belay::wire {

/// `now_ms` is wall-clock time: what a TTL check said holds until then plus its TTL, whether this process lives or not.
std::string encode_registration(const agent::stored_service& s);
std::string encode_registration(const agent::stored_check& c, std::uint64_t now_ms);

using registration = std::variant<agent::stored_service, agent::stored_check>;
/// @returns a failure for damaged bytes and those of another version.
result<registration> decode_registration(std::string_view bytes, std::uint64_t now_ms);

} // namespace belay::wire
