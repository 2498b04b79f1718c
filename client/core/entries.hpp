#pragma once
// Updates a key, its flags included, by a function of its present state.

#include <belay/keys.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

struct value_and_flags {
  std::string value;
  std::uint64_t flags = 0;
};

/// A function from the current entry to the new value and flags. nullopt leaves the key as it is.
using entry_change = std::function<std::optional<value_and_flags>(const std::optional<entry>&)>;

/// Like belay::update(), with flags.
/// @param fn must outlive the task; called again if another client wrote meanwhile
/// @returns what is there afterwards; of the numbers only the flags are set
task<result<entry>> update_entry(environment& env, std::string key, const entry_change& fn, deadline limit,
                                 backoff pauses);

} // namespace detail
} // namespace v0
} // namespace belay
