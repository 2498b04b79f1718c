#pragma once
// When checks expire, and when this node runs its checks again.

#include "protocol/agent/definitions.hpp"
#include "protocol/base/random.hpp"

#include <set>

namespace belay::agent {

/// Counts only how many results of a kind came in a row, and whether that is enough to show them.
class check_schedule {
public:
  /// Consul's minimum.
  static constexpr std::chrono::seconds interval_min{1};
  /// 146 years: can be added to any time since boot without overflow.
  static constexpr local_time interval_max = local_time::max() / 2;

  /// @param node this one: aliases of other nodes are run
  check_schedule(std::uint64_t seed, std::string node) : random_(seed), node_(std::move(node)) {}

  /// Adds or replaces the definition with that ID. The first run is within one interval.
  void begin(const std::string& id, const check_definition& d, local_time now);
  void end(const std::string& id);
  /// A TTL check was updated; its expiry shows `output`. @returns false: there is no such TTL check
  bool renew(const std::string& id, std::string_view output, local_time now);

  struct run {
    std::string id;
    std::uint64_t number = 0; ///< identifies late results of an earlier definition
  };
  struct expiry {
    std::string id, output;
  };
  struct due_now {
    std::vector<expiry> expired;
    std::vector<run> runs;
  };
  /// Returns each once; a run is due again after its finished().
  due_now due(local_time now);
  /// @returns whether to show its status: false if there were too
  /// few results of that kind in a row, or the run is obsolete.
  bool finished(const run& r, std::string_view status, local_time now);

private:
  struct timed {
    check_kind kind = check_kind::ttl;
    local_time interval{0}; ///< or TTL
    local_time at{0};
    bool waiting = false; ///< is in order_
    std::uint64_t number = 0;
    std::int64_t successes_needed = 0, failures_needed = 0, successes = 0, failures = 0;
    std::string last_output;
  };
  void arm(const std::string& id, timed& t, local_time at);
  void disarm(const std::string& id, timed& t);

  seeded_random random_;
  std::string node_;
  std::map<std::string, timed> checks_;
  std::set<std::pair<local_time, std::string>> order_;
  std::uint64_t numbers_ = 0;
};

} // namespace belay::agent
