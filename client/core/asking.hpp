#pragma once
// Sends requests and retries them until a server responds.

#include <belay/keys.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

/// Deadline of one try of a request that the server answers at once.
constexpr milliseconds one_try{5000};

/// A caller's limit, cut to a year: as nanoseconds in 64 bits, a longer one could not be added to a
/// time.
inline milliseconds at_most_a_year(milliseconds limit) {
  return std::clamp(limit, milliseconds(0), milliseconds(std::chrono::hours(24 * 365)));
}

/// Retries, after pauses, while no server can be reached, no response arrives, or the server
/// reports an internal failure.
/// @param each time limit of one try @returns the last response.
/// @pre repeating the request is harmless
task<answer> ask_until_answered(environment& env, request q, deadline limit, milliseconds each);

struct decision {
  answer last;
  /// Whether a response was lost: it may have taken effect although `last` says otherwise.
  bool lost;
  decision(answer a, bool l) : last(std::move(a)), lost(l) {}

  /// The error of a write that did not succeed.
  error to_error() const;
};

/// Whether a write may be repeated on servers that do not support idempotency keys.
enum class repeats : std::uint8_t {
  harmless, ///< it takes effect at most once, however often it is sent: it is conditional on an index
  once,     ///< never
};

/// Sends a write until its outcome is decided. After a lost response it requests the outcome of the
/// idempotency key, which cancels the write if it has not happened
/// (docs/reference/exactly-once.md). Consul has no outcomes.
task<decision> write_once(environment& env, request plain, deadline limit, backoff pauses, repeats how);

/// Whether to retry: there was no response, or the server failed.
bool is_failure(const answer& a);

/// Whether a server that does not support idempotency keys yet has rejected one: nothing was done.
bool knows_no_keys(const answer& a);

/// Whether the body is `true`: the response to a write that was made.
bool is_true(const answer& a);

/// 128 random bits in hexadecimal.
std::string fresh_id(environment& env);

/// The error for a key that should hold a number and does not.
error no_number(const std::string& key);

std::string text_of(milliseconds t);

milliseconds until(instant now, instant end);

} // namespace detail
} // namespace v0
} // namespace belay
