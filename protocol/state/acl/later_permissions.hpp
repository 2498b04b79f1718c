#pragma once
// Permissions of what was requested before and takes effect now (docs/claims.md, rules 19 and 33). Carried out beside all other permissions
// (acl/permissions.cpp).

#include "protocol/state/tables.hpp"

namespace belay::state {

inline constexpr std::string_view permission_denied = "Permission denied";

/// Whether the requester of something that takes effect later may still write the key or name. It may if its name is not known.
bool may_still_write(const tables& t, const requester& by, cluster_time now, std::string_view name);
/// The same of an operation of OnEnd.
bool may_still_run(const tables& t, const requester& by, cluster_time now, const kv_op& op);

} // namespace belay::state
