#pragma once
// The keys and values of the simulated clients' semaphores. sim/clients/lock_client writes them,
// sim/checkers/session_checker reads them.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// Limit of the semaphore under `semaphore_prefix`. Its holders are the ids of sessions in the
/// value of `semaphore_key`, separated by commas and ended by a semicolon. The session of each has
/// locked a key of its own under the prefix (the contender recipe of Consul's guide on semaphores).
inline constexpr std::size_t semaphore_limit = 2;
inline constexpr std::string_view semaphore_prefix = "s/";
inline constexpr std::string_view semaphore_key = "s/.holders";
/// The other recipe: each of these keys, with a number appended, is a lock; one of them suffices.
inline constexpr std::string_view slot_prefix = "p/";
/// The ids before the semicolon.
std::vector<std::string> holders_in(std::string_view value);

} // namespace belay::sim
