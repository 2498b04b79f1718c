#pragma once
// Formats a request for a server: the only place where such requests are written.

#include "actors/relay/request_relay.hpp"

#include <string>

namespace belay::actors {

/// Whether the request can be written without a change of its framing (RFC 9112 sections 2.2, 3 and
/// 5). Method and header names must be tokens. The target must begin with a slash and have bytes
/// 0x21..0x7e only. Header values must have no control character except tab, and no header may
/// frame the request.
bool can_be_written(const relayed_request& r);
/// Request line, headers and body. @pre can_be_written(r)
std::string written(const relayed_request& r);

/// What an agent sends after a request that waits for a lock if that request's client disconnected,
/// before it ends the connection. It is a request that servers of 0.2.0 answer with 404, which
/// is ignored. Without it a server cannot distinguish a lost client from a lost agent.
inline constexpr std::string_view client_disconnected =
    "DELETE /v1/internal/agent/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";

} // namespace belay::actors
