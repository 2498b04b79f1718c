#pragma once
// Reads with `?cached` of a client agent (docs/contract/06, section 2).

#include "protocol/http/request_context.hpp"
#include "protocol/http/routes.hpp"

#include <optional>

namespace belay::http {

/// @param wanted what its handler has decided
/// @returns nullopt: it does not want an earlier answer, or nobody keeps one there
std::optional<cached_read> cached_read_of(const request_context& c, const route& r, const action& wanted);

} // namespace belay::http
