#pragma once
// The keys in which the simulated clients keep their semaphores, and the texts they hold: written by
// sim/clients/lock_client, read by sim/checkers/session_checker.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// How many may hold the semaphore under `semaphore_prefix` at a time. Its holders are the ids of sessions in the value
/// of `semaphore_key`, with commas between them, up to a semicolon, each with a key of its own under the prefix that
/// its session has locked (the contender recipe of Consul's guide on semaphores).
inline constexpr std::size_t semaphore_limit = 2;
inline constexpr std::string_view semaphore_prefix = "s/";
inline constexpr std::string_view semaphore_key = "s/.holders";
/// The other recipe: each of these keys, with a number behind it, is a lock, and one of them is enough.
inline constexpr std::string_view slot_prefix = "p/";
/// The ids before the semicolon.
std::vector<std::string> holders_in(std::string_view value);

} // namespace belay::sim
