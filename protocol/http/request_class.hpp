#pragma once
// Which requests a server refuses first when more come than it can answer (protocol/forward/load_shedder.hpp). A client that is refused
// something new asks again; one whose renewal or release is refused loses a lock, or keeps it from others.

#include "protocol/forward/load_shedder.hpp"
#include "protocol/http/request.hpp"

namespace belay::http {

forward::request_class class_of(const state::command& c);
forward::request_class class_of(const read_request& r);
forward::request_class class_of(const agent_request& r);

/// The answer to what is refused, with status 500: that status, and no other, Consul's clients take for something that passes, and
/// ask again. The words are those of later Consuls.
inline constexpr auto overloaded_text = "rate limit exceeded, try again later or against a different server";

} // namespace belay::http
