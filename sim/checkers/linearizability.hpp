#pragma once
// Searches for a linearization: an order of the clients' operations in which a plain register gives
// the same responses. Each operation is placed at one moment between its start and its end. It uses
// only what clients saw, neither the log nor indexes.

#include "sim/checkers/paused_clocks.hpp"
#include "sim/record/history.hpp"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

enum class register_verb : std::uint8_t { put, cas, remove, remove_cas, read };

/// What a compare-and-set expected to find.
struct expectation {
  bool anything = false;            ///< unknown to us, except that it was a value, not absence
  std::optional<std::string> value; ///< nullopt: absent
};

/// One operation on one key. A put or remove has no result except that it is done.
struct register_op {
  std::uint64_t id = 0;
  std::string key;
  register_verb verb = register_verb::read;
  std::string value;                   ///< put, cas: to be written
  expectation expected;                ///< cas, remove_cas
  bool succeeded = true;               ///< cas, remove_cas that is done (a remove_cas of a missing key succeeds)
  std::optional<std::string> observed; ///< read that is done; nullopt: absent
  /// Refused: never took effect; unknown, pending: at any time from `invoked`, or never.
  outcome result = outcome::done;
  virtual_time invoked{0}, returned{0};
};

enum class linearizable : std::uint8_t { yes, no, gave_up };

struct linearizability_report {
  linearizable finding = linearizable::yes;
  std::string key;  ///< the first one that is not linearizable, or where the search gave up
  std::string text; ///< not linearizable: a small window of operations that no register explains
};

/// Searches key by key, with at most this many steps for each. Operations may be in any order.
linearizability_report check_linearizability(const std::vector<register_op>& history,
                                             std::uint64_t steps_max_per_key = 300'000);

/// The operations on single keys: puts, cas, deletes, and reads that are not stale. What a cas
/// expects is what clients read of that key at that ModifyIndex. A recursive delete is one delete
/// of each key below it. Keys that transactions or locks write are left out.
/// @param trust_lease false: without default reads
/// @param clocks not null: without those it excuses
/// @pre a value is not written twice to the same key
std::vector<register_op> register_history(const std::deque<operation>& history, bool trust_lease = true,
                                          const paused_clocks* clocks = nullptr);

} // namespace belay::sim
