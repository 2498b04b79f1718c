#pragma once
// The token of a request (docs/contract/01, section 5), and what is asked in its name.

#include "protocol/http/request_context.hpp"

namespace belay::http {

/// Longer ones are no tokens. Consul's are UUIDs, and what an operator writes down is not much longer.
constexpr std::size_t token_bytes_max = 4096;

/// Whether it can stand in a header as a token. Not empty.
bool could_be_token(std::string_view text);
/// What the request brings, of any length: `?token`, else X-Consul-Token, else Authorization: Bearer, else the agent's own for such
/// requests. Empty: nothing of all that.
std::string_view token_of(const request_context& c);
/// The same without the agent's own, for those that are kept; empty also if it cannot be one.
std::string_view brought_token(const request_context& c);
/// Of that token, or of the anonymous one. A text that is too long to be a token becomes a short one that is nobody's.
state::authority authority_of(const request_context& c);
/// Reads and writes of the replicated state are asked in his name; other actions stay as they are.
void attach_authority(action& a, const state::authority& by, bool lists_need_permission);

/// One of those of an agent that clients may change, by its name in the path; nullopt: there is none.
std::optional<agent_token_kind> agent_token_named(std::string_view name);

} // namespace belay::http
