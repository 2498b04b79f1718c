#pragma once
// How a request is shown in the log.

#include "protocol/http/request.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

/// Method and target. The value of `token=` is a secret and is left out, and so is what stands behind `/v1/acl/info/` and the like
/// (Consul hides both, too), and `own` wherever it stands.
/// @param own the token that the request brings; empty: none
/// @param found what its path names a token by has named one; else it may be a secret, and is left out
std::string logged_request(const http::raw_request& r, std::string_view own = {}, bool found = false);

/// Where a path that is decoded should name a token by its accessor, or one of an agent's own by its kind, the text that does: clients put
/// secrets there by mistake. Empty: it names none, or by a word that is known.
std::string_view token_named_in(std::string_view path);

/// `<hidden>` wherever `secret` stands in `text`. Secrets of less than 16 bytes are not looked for: words would be hidden.
void hide_secret(std::string& text, std::string_view secret);

} // namespace belay::actors
