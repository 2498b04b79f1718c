#pragma once
// The token of a request (docs/contract/01, section 5), and the auth_context that results from it.

#include "protocol/http/request_context.hpp"

namespace belay::http {

/// The longest token, in bytes. Consul's are UUIDs; those in configurations are not much longer.
constexpr std::size_t token_bytes_max = 255;

/// Whether `text` has 1 to token_bytes_max bytes, all in 0x21..0x7e. Any other text
/// is not a token, and is never written into a request, a log line or a file as one.
bool could_be_token(std::string_view text);
/// 400 for a new token with a text that cannot be one.
inline constexpr std::string_view invalid_token = "Invalid Token";
/// X-Consul-Token for a server, on behalf of `secret`. A text that cannot be a token becomes
/// a fixed one that cannot be one either: treated as an unknown token. @pre !secret.empty()
std::string_view token_header(std::string_view secret);
/// The request's token, of any length: `?token`, else X-Consul-Token, else
/// Authorization: Bearer, else the agent's default. Empty: none of these.
std::string_view token_of(const request_context& c);
/// The same without the agent's default, to be stored; also empty if it cannot be a token.
std::string_view brought_token(const request_context& c);
/// The auth context of that token, or anonymous. If it cannot be a token, a short one that none
/// has.
state::auth_context auth_context_of(const request_context& c);
/// Adds the auth context to reads and writes of replicated state; does not change other actions.
void attach_auth_context(action& a, const state::auth_context& by, bool lists_need_permission);

/// An agent's token that clients may change, by its name in the path; nullopt: unknown.
std::optional<agent_token_kind> agent_token_named(std::string_view name);
/// The present name; empty for an unknown one, which is any text of a client.
std::string_view name_of(agent_token_kind kind);

} // namespace belay::http
