#pragma once
// Writing what a function makes of a key, with its flags.

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

/// What becomes of a key: a function of what is there. nullopt leaves it as it is.
using entry_change = std::function<std::optional<value_and_flags>(const std::optional<entry>&)>;

/// As belay::update(). @param fn outlives the task; it is called again if somebody else wrote
/// meanwhile
/// @returns what is there afterwards; of its numbers only the flags
task<result<entry>> update_entry(world& w, std::string key, const entry_change& fn, patience limit, backoff pauses);

} // namespace detail
} // namespace v0
} // namespace belay
