#pragma once
// Asking until there is an answer.

#include <belay/keys.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

/// How long to wait for an answer that should come at once, before asking again.
constexpr milliseconds one_try{5000};

/// Asks again, after pauses, while no server can be reached, no answer comes, or the server says that it failed.
/// @param each how long one try may take
/// @returns the last answer. @pre asking twice does no harm
task<answer> ask_until_answered(world& w, request q, patience limit, milliseconds each);

struct decision {
  answer last;
  /// Whether an answer was lost on the way: the effect may be there although the last answer says that it was not made.
  bool lost;
  decision(answer a, bool l) : last(std::move(a)), lost(l) {}

  /// What that is if it is not done.
  error judge() const;
};

/// Whether a write may be sent again where servers know no idempotency keys.
enum class repeats : std::uint8_t {
  harmless, ///< it takes effect once at most, whoever counts: with an index
  once,     ///< never
};

/// Asks for a write until it is decided. It has an idempotency key: when an answer was lost, the server is asked what became
/// of it, and told that nothing shall if nothing did (docs/exactly-once.md). Consul ignores the key and knows no outcomes.
task<decision> write_once(world& w, request plain, patience limit, backoff pauses, repeats how);

/// Whether to ask again: there was no answer, or one of a server that failed.
bool is_failure(const answer& a);

/// Whether a server that does not know idempotency keys yet has refused one: nothing was done.
bool knows_no_keys(const answer& a);

/// Whether it is `true`: what a write was answered that was made.
bool says_true(const answer& a);

/// 128 random bits in hexadecimal.
std::string fresh_id(world& w);

/// Of a key that should hold one.
error no_number(const std::string& key);

std::string text_of(milliseconds t);

milliseconds until(instant now, instant end);

} // namespace detail
} // namespace v0
} // namespace belay
