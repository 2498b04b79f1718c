#pragma once
// Who requested something that takes effect later: a waiting claim, the OnEnd of a session.

#include "protocol/state/fields.hpp"

#include <string>

namespace belay::state {

/// What remains of an auth context after its entry: enough to authorize again, without the secret.
struct requester {
  std::string accessor; ///< token's accessor; empty: its entry is below client_address_level, or ACLs were off
  bool allowed_by_default = false; ///< as in auth_context
  std::string datacenter;          ///< as in auth_context

  bool empty() const { return accessor.empty(); }
  bool operator==(const requester&) const = default;
};
template <>
inline constexpr auto fields_of<requester> = std::tuple{
    field<&requester::accessor>{},
    field<&requester::allowed_by_default>{},
    field<&requester::datacenter>{},
};

} // namespace belay::state
