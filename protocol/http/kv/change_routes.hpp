#pragma once
// Handlers of /v1/kv/ for changes of keys and earlier states of keys (docs/reference/changes.md).

#include "protocol/http/reading/query_options.hpp"

namespace belay::http {

/// `?changes`
action changes_route(request_context& c);
/// `?at` or `?history`
action past_route(request_context& c, const query_options& o);

} // namespace belay::http
