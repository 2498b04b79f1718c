#pragma once
// Computes how long a session lives, from its record.

#include "protocol/lease/session_deadlines.hpp"
#include "protocol/state/records.hpp"

namespace belay::actors {

inline lease::precision precision_of(const state::session_record& s) {
  return s.ttl_mode == state::session_ttl_mode::exact ? lease::precision::exact : lease::precision::lower_bound;
}

inline std::uint64_t in_ms_up(std::chrono::nanoseconds d) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

/// Lifetime of a session that is renewed now; zero: it has no TTL.
inline std::uint64_t lifetime_ms(const state::session_record& s) {
  return s.ttl_ns > 0 ? in_ms_up(lease::lifetime(std::chrono::nanoseconds(s.ttl_ns), precision_of(s))) : 0;
}

} // namespace belay::actors
