#pragma once
// The text of a request on a connection to a server: the only place where requests to servers are written.

#include "actors/relay/request_relay.hpp"

#include <string>

namespace belay::actors {

/// Whether the request can be written without a change of its framing (RFC 9112 sections 2.2, 3 and 5): method and names of headers are
/// tokens, the target has bytes 0x21..0x7e only and begins with a slash, values of headers have no control character except the tab, and
/// no header says where the request ends.
bool can_be_written(const relayed_request& r);
/// Request line, headers and body. @pre can_be_written(r)
std::string written(const relayed_request& r);

/// What an agent says behind a request that waits for a lock, before it ends the connection, if the client of that request has ended its
/// own. A request, because servers of 0.2.0 take it for one: they answer it with 404, which nobody reads. Without it a server cannot
/// tell whether the client or the agent is gone.
inline constexpr std::string_view client_disconnected =
    "DELETE /v1/internal/agent/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";

} // namespace belay::actors
