#pragma once
// The token of a request (docs/contract/01, section 5), and what is asked in its name.

#include "protocol/http/request_context.hpp"

namespace belay::http {

/// The longest token, in bytes. Consul's tokens are UUIDs, and a token in a configuration file is not much longer.
constexpr std::size_t token_bytes_max = 255;

/// Whether `text` has 1 to token_bytes_max bytes, all of them in 0x21..0x7e. No other text is a token, and no other text is written
/// into a request, a log line or a file as one.
bool could_be_token(std::string_view text);
/// Of a text that is to become a token and cannot be one: 400.
inline constexpr std::string_view invalid_token = "Invalid Token";
/// The value of X-Consul-Token in a request to a server, in the name of `secret`. A text that cannot be a token becomes a fixed text that
/// cannot be one either: the server answers as for an unknown token. @pre !secret.empty()
std::string_view token_header(std::string_view secret);
/// What the request brings, of any length: `?token`, else X-Consul-Token, else Authorization: Bearer, else the agent's own for such
/// requests. Empty: nothing of all that.
std::string_view token_of(const request_context& c);
/// The same without the agent's own, for those that are kept; empty also if it cannot be one.
std::string_view brought_token(const request_context& c);
/// Of that token, or of the anonymous one. A text that cannot be a token becomes a short one that no token has.
state::authority authority_of(const request_context& c);
/// Reads and writes of the replicated state are asked in his name; other actions stay as they are.
void attach_authority(action& a, const state::authority& by, bool lists_need_permission);

/// One of those of an agent that clients may change, by its name in the path; nullopt: there is none.
std::optional<agent_token_kind> agent_token_named(std::string_view name);

} // namespace belay::http
