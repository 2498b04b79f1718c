#pragma once
// The result of a call. *Done*: it took effect. *Refused*: it has no effect, now or later.
// *Unknown*: the response was lost, and it may have an effect. Only the caller can decide whether
// to retry.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {

enum class outcome : std::uint8_t { done, refused, unknown };

/// Why a call is not done, as far as callers react differently. error::text() says more.
enum class reason : std::uint8_t {
  none,
  held,        ///< another client holds it
  lock_delay,  ///< in its lock delay: see error::retry_after
  queued,      ///< other clients wait for it
  index,       ///< it was changed meanwhile
  absent,      ///< it does not exist
  bounds,      ///< a counter would leave its bounds
  deadline,    ///< the caller's deadline has passed
  stopped,     ///< the caller stopped the call
  session,     ///< the session has ended, or may have
  forbidden,   ///< the token lacks the permission
  invalid,     ///< the server rejects the request as malformed
  limit,       ///< a limit of the server or of this library is reached; error::retry_after if known
  unsupported, ///< the server does not support the feature
  unavailable, ///< no server can be reached; nothing was sent
  no_answer,   ///< it was sent, and no response arrived
  server,      ///< the server reports an internal failure
  closed,      ///< the client is closed, or this is the child of a fork
};

std::string_view name_of(reason r) noexcept;

class error {
public:
  error() = default;
  error(v0::outcome outcome, v0::reason reason, std::string text, int status = 0)
      : outcome_(outcome), reason_(reason), status_(status), text_(std::move(text)) {}

  v0::outcome outcome() const noexcept { return outcome_; }
  v0::reason reason() const noexcept { return reason_; }
  /// The error as text, for people and logs.
  const std::string& text() const noexcept { return text_; }
  /// HTTP status of the response that decided; 0 if none did.
  int status() const noexcept { return status_; }
  /// Zero if the server sent none.
  std::chrono::milliseconds retry_after() const noexcept { return retry_after_; }
  void set_retry_after(std::chrono::milliseconds t) noexcept { retry_after_ = t; }

private:
  v0::outcome outcome_ = v0::outcome::refused;
  v0::reason reason_ = v0::reason::none;
  int status_ = 0;
  std::string text_;
  std::chrono::milliseconds retry_after_{0};
};

struct nothing {};

/// A T if the call is done, else an error. Reading the wrong one is a programming error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : value_(std::move(value)) {}
  result(v0::error error) : error_(std::move(error)) {}

  v0::outcome outcome() const noexcept { return value_ ? v0::outcome::done : error_.outcome(); }
  bool done() const noexcept { return value_.has_value(); }
  bool refused() const noexcept { return outcome() == v0::outcome::refused; }
  bool unknown() const noexcept { return outcome() == v0::outcome::unknown; }
  explicit operator bool() const noexcept { return done(); }

  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

  /// @pre !done()
  const v0::error& error() const noexcept { return error_; }
  /// reason::none if the call is done.
  v0::reason reason() const noexcept { return value_ ? v0::reason::none : error_.reason(); }

private:
  std::optional<T> value_;
  v0::error error_;
};

/// The result of calls that return no value.
using status = result<nothing>;

} // namespace v0
} // namespace belay
