#pragma once
// When checks expire, and when the ones that this node runs are run again.

#include "protocol/agent/definitions.hpp"
#include "protocol/base/random.hpp"

#include <set>

namespace belay::agent {

/// Of results it only knows how many of a kind came in a row, and whether that is enough for them to count.
class check_schedule {
public:
  /// Consul runs nothing more often.
  static constexpr std::chrono::seconds interval_min{1};
  /// 146 years: added to any time since the start of a machine it stays a time.
  static constexpr local_time interval_max = local_time::max() / 2;

  /// @param node the own one: aliases of others are run
  check_schedule(std::uint64_t seed, std::string node) : random_(seed), node_(std::move(node)) {}

  /// Begins with a definition, also in place of an earlier one of that ID. The first run comes within one interval.
  void begin(const std::string& id, const check_definition& d, local_time now);
  void end(const std::string& id);
  /// A TTL check was updated; its expiry will say the output, which is kept until then. @returns false: there is no such TTL check
  bool renew(const std::string& id, std::string_view output, local_time now);

  struct run {
    std::string id;
    std::uint64_t number = 0; ///< tells a late result of an earlier definition
  };
  struct expiry {
    std::string id, output;
  };
  struct due_now {
    std::vector<expiry> expired;
    std::vector<run> runs;
  };
  /// Each is returned once; a run is due again after its finished().
  due_now due(local_time now);
  /// @returns whether its status is to be shown: false if there were not enough results of that kind in a row yet, or
  /// if nobody waits for this run any more.
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
