#pragma once
// What a client agent requests of servers in place of a request of its client: from parsed values, never the client's text.

#include "actors/relay/request_relay.hpp"

#include <chrono>

namespace belay::actors {

struct passed_on_request {
  relayed_request request;
  std::chrono::nanoseconds wait{0}; ///< it may be without an answer for so long
};

/// @pre parsed.for_servers
passed_on_request request_for_servers(const http::raw_request& r, const http::parsed_request& parsed);

} // namespace belay::actors
