#pragma once
// In whose name something was requested that takes effect later: a claim that waits, the OnEnd of a session.

#include "protocol/state/fields.hpp"

#include <string>

namespace belay::state {

/// What is left of an authority when its entry is over: not the secret, and enough to judge again (permissions.hpp).
struct requester {
  std::string accessor; ///< of the token; empty: its entry is below client_address_level, or ACLs were not in force
  bool allowed_by_default = false; ///< as in authority
  std::string datacenter;          ///< as in authority

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
