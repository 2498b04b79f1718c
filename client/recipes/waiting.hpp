#pragma once
// Helpers of recipes that wait for a grant.

#include <belay/session.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

/// How much later than the requested wait a response may arrive.
constexpr milliseconds answer_slack{5000};

/// The longest wait for a change or a grant in one request.
constexpr milliseconds longest_wait{60000};

/// How long to let the server wait, so that its response arrives before the caller's deadline.
inline milliseconds wait_within(milliseconds left) {
  return left - std::min(left / 8, milliseconds(200));
}

inline error session_error(const session& s) {
  auto text =
      s.lost_reason().empty() ? std::string("the session is not open") : "the session is lost: " + s.lost_reason();
  return error(outcome::refused, reason::session, std::move(text));
}

/// Whether to stop waiting for a grant to the session with that ID: nullopt, or the error.
inline std::optional<error> given_up(session& s, const std::string& id, const deadline& limit, instant now) {
  if (s.id() != id || s.ended().stopped())
    return session_error(s);
  if (limit.over(now))
    return limit.error();
  return std::nullopt;
}

/// After a grant: whether the session with that ID still is safe.
inline bool still_safe(session& s, const std::string& id) {
  return s.id() == id && s.safe();
}

} // namespace detail
} // namespace v0
} // namespace belay
