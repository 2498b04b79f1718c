#pragma once
// Determines what a request changes, from its parsed form, for the audit log.

#include "actors/audit/audit_event.hpp"
#include "protocol/http/request.hpp"

#include <vector>

namespace belay::actors {

/// Empty: it only reads, or its answer was known at once.
std::vector<audit_target> audit_targets_of(const http::action& a);

} // namespace belay::actors
