#pragma once
// What recipes that wait for a grant have in common.

#include <belay/session.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

/// An answer may come that much later than the wait that it was asked with.
constexpr milliseconds answer_slack{5000};

/// How long one request lets a server wait for a change or a grant.
constexpr milliseconds longest_wait{60000};

/// How long to let the server wait, so that its answer comes before the caller's time is over.
inline milliseconds wait_within(milliseconds left) {
  return left - std::min(left / 8, milliseconds(200));
}

inline error session_error(const session& s) {
  auto text =
      s.lost_because().empty() ? std::string("the session is not open") : "the session is lost: " + s.lost_because();
  return error(outcome::refused, reason::session, std::move(text));
}

/// Whether to wait on for a grant to the session with that ID: none, or why not.
inline std::optional<error> given_up(session& s, const std::string& id, const patience& limit, instant now) {
  if (s.id() != id || s.ended().stopped())
    return session_error(s);
  if (limit.over(now))
    return limit.why();
  return std::nullopt;
}

/// Of a grant that came: whether the session with that ID still is safe.
inline bool still_safe(session& s, const std::string& id) {
  return s.id() == id && s.safe();
}

} // namespace detail
} // namespace v0
} // namespace belay
