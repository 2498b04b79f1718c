#pragma once
// What became of a call. *Done*: it has its effect. *Refused*: it has none, and will have none. *Unknown*: the answer was
// lost, and the effect may be there, or come later; nobody but the caller knows whether asking again is right.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {

enum class outcome : std::uint8_t { done, refused, unknown };

/// Why a call is not done. What callers do differently because of it; the text says more.
enum class reason : std::uint8_t {
  none,
  held,        ///< somebody else has it
  lock_delay,  ///< nobody may have it yet: error::retry_after
  queued,      ///< others wait for it
  index,       ///< it was changed meanwhile
  absent,      ///< there is no such thing
  bounds,      ///< a counter would leave its bounds
  deadline,    ///< the time that the caller gave is over
  stopped,     ///< the caller asked to stop
  session,     ///< the session has ended, or may have
  forbidden,   ///< the token may not do this
  invalid,     ///< the server cannot make sense of the request
  limit,       ///< a limit of the server or of this library is reached: error::retry_after if it is known
  unsupported, ///< the server has no such feature
  unavailable, ///< no server could be asked; nothing was sent
  no_answer,   ///< it was sent, and no answer came
  server,      ///< the server says that it failed
  closed,      ///< the client is closed, or this is the child of a fork
};

std::string_view name_of(reason why) noexcept;

class error {
public:
  error() = default;
  error(outcome how, reason why, std::string text, int status = 0)
      : how_(how), why_(why), status_(status), text_(std::move(text)) {}

  outcome how() const noexcept { return how_; }
  reason why() const noexcept { return why_; }
  /// For people and logs.
  const std::string& text() const noexcept { return text_; }
  /// HTTP status of the answer that decided; 0 if none did.
  int status() const noexcept { return status_; }
  /// Zero if the server did not say.
  std::chrono::milliseconds retry_after() const noexcept { return retry_after_; }
  void set_retry_after(std::chrono::milliseconds t) noexcept { retry_after_ = t; }

private:
  outcome how_ = outcome::refused;
  reason why_ = reason::none;
  int status_ = 0;
  std::string text_;
  std::chrono::milliseconds retry_after_{0};
};

struct nothing {};

/// A T if it is done, else an error. Reading the wrong one is a programming error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : value_(std::move(value)) {}
  result(error why) : error_(std::move(why)) {}

  outcome how() const noexcept { return value_ ? outcome::done : error_.how(); }
  bool done() const noexcept { return value_.has_value(); }
  bool refused() const noexcept { return how() == outcome::refused; }
  bool unknown() const noexcept { return how() == outcome::unknown; }
  explicit operator bool() const noexcept { return done(); }

  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

  /// @pre !done()
  const error& why() const noexcept { return error_; }
  /// reason::none if it is done.
  reason because() const noexcept { return value_ ? reason::none : error_.why(); }

private:
  std::optional<T> value_;
  error error_;
};

/// Of calls that have nothing to return.
using status = result<nothing>;

} // namespace v0
} // namespace belay
