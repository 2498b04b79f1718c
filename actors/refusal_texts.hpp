#pragma once
// Texts with which more than one actor refuses a request; clients of Consul know and match them.

namespace belay::actors {

/// No leader turned up in time (docs/contract/06, section 3).
inline constexpr auto no_leader = "No cluster leader";

} // namespace belay::actors
