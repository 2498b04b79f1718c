#pragma once
// Builds a client agent's request to servers from its client's: from parsed values, not raw text.

#include "actors/relay/request_relay.hpp"

#include <chrono>
#include <string_view>

namespace belay::actors {

struct passed_on_request {
  relayed_request request;
  std::chrono::nanoseconds wait{0}; ///< it may take this long
};

/// @param further a header that is sent on beside those that servers' routes read; empty: none
/// @pre parsed.for_servers
passed_on_request request_for_servers(const http::raw_request& r, const http::parsed_request& parsed,
                                      std::string_view further = {});

} // namespace belay::actors
