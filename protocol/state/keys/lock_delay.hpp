#pragma once
// Keys that cannot be acquired for a while because their holder's session was ended (docs/contract/04, section 3.5), in
// cluster time: the same on every node, and kept by checkpoints and restarts (docs/pitfalls.md C4).

#include "protocol/state/journaled_map.hpp"

#include <set>

namespace belay::state {

class lock_delay {
public:
  explicit lock_delay(change_journal& journal) : rows_(journal, table::lock_delays) {}

  /// `key` is blocked until `until`, whatever was said before.
  void start(std::string_view key, cluster_time until) { put({std::string(key), until}); }
  /// Earliest cluster time at which `key` may be acquired again. @returns nullopt if no delay is in force at `now`.
  std::optional<cluster_time> blocked_until(std::string_view key, cluster_time now) const;
  /// By when they are over, the first one first. Valid until the next change.
  const std::set<std::pair<cluster_time, std::string>>& by_time() const { return by_time_; }
  /// Drops delays that are over. Called for every entry of the log, so that all nodes hold the same rows.
  void expire(cluster_time now);

  void put(lock_delay_record row);
  void erase(std::string_view key);
  const journaled_map<lock_delay_record>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_time", by_time_}}; }

private:
  journaled_map<lock_delay_record> rows_;
  std::set<std::pair<cluster_time, std::string>> by_time_;
};

} // namespace belay::state
