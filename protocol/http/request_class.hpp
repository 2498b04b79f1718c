#pragma once
// Which requests an overloaded server rejects first (protocol/forward/load_shedder.hpp). A
// rejected new request is retried; a rejected renewal or release loses a lock, or blocks others.

#include "protocol/forward/load_shedder.hpp"
#include "protocol/http/request.hpp"
#include "protocol/http/response.hpp"

namespace belay::http {

forward::request_class class_of(const state::command& c);
forward::request_class class_of(const read_request& r);
forward::request_class class_of(const agent_request& r);

/// The response to a rejected request, with status 500: the only status that Consul's
/// clients treat as temporary and retry. The text is that of later Consul versions.
inline constexpr auto overloaded_text = "rate limit exceeded, try again later or against a different server";
/// That answer, with the header Retry-After: a second, twice shedding_rules::delay_max.
response overloaded_response();

} // namespace belay::http
