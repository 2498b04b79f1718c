#pragma once
// Permissions for requests that take effect later (docs/reference/claims.md, rules 19
// and 33). Implemented beside all other permissions (acl/permissions.cpp).

#include "protocol/state/tables.hpp"

namespace belay::state {

inline constexpr std::string_view permission_denied = "Permission denied";

/// Whether the requester may still write the key or name. True if the requester is not known.
bool may_still_write(const tables& t, const requester& by, cluster_time now, std::string_view name);
/// The same for an operation of OnEnd.
bool may_still_run(const tables& t, const requester& by, cluster_time now, const kv_op& op);

} // namespace belay::state
