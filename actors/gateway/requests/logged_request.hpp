#pragma once
// How a request is shown in the log.

#include "protocol/http/request.hpp"

#include <string>

namespace belay::actors {

/// Method and target. The value of `token=` is a secret and is left out, and so is what stands behind `/v1/acl/info/` and the like
/// (Consul hides both, too).
std::string logged_request(const http::raw_request& r);

} // namespace belay::actors
