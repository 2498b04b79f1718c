#pragma once
// Reads with `?cached` (docs/contract/06, section 2).

#include "protocol/http/request_context.hpp"
#include "protocol/http/routes.hpp"

#include <optional>

namespace belay::http {

/// @param wanted the handler's result
/// @returns nullopt: it does not accept a cached response, or this route has no cache
std::optional<cached_read> cached_read_of(const request_context& c, const route& r, const action& wanted);
/// A server reads its own tables, even without a leader, unless the request names a mode.
void read_as_cached(const cached_read& c, action& wanted);
/// `X-Cache` and `Age`.
void add_cache_headers(response& r, const cache_state& cache);

} // namespace belay::http
