#pragma once
// Formats a request for the log, without secrets.

#include "protocol/http/request.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

/// Method and target. Hides the value of `token=`, which is a secret, what follows
/// `/v1/acl/info/` and the like (Consul hides both, too), and `own` everywhere.
/// @param own the token of the request; empty: none
/// @param found the path names an existing token; otherwise that name may be a secret, and is
/// hidden
std::string logged_request(const http::raw_request& r, std::string_view own = {}, bool found = false);

/// The part of a decoded path that should name a token by its accessor, or an agent's token by its
/// kind. Clients put secrets there by mistake. Empty: there is none, or it is a known word.
std::string_view token_named_in(std::string_view path);

/// Replaces `secret` in `text` by `<hidden>`. Ignores secrets below 16 bytes: they may be words.
void hide_secret(std::string& text, std::string_view secret);

} // namespace belay::actors
