#pragma once
// Lock delays: keys not acquirable yet because their holder's session ended (docs/contract/04,
// section 3.5), in cluster time: equal on all nodes, in checkpoints (docs/internals/pitfalls.md C4).

#include "protocol/state/undo_logged_map.hpp"

#include <set>

namespace belay::state {

class lock_delay {
public:
  explicit lock_delay(undo_log& log) : rows_(log, table::lock_delays) {}

  /// Blocks `key` until `until`; replaces an earlier delay.
  void start(std::string_view key, cluster_time until) { put({std::string(key), until}); }
  /// Earliest cluster time at which `key` may be acquired. @returns nullopt: no delay at `now`.
  std::optional<cluster_time> blocked_until(std::string_view key, cluster_time now) const;
  /// All delays, earliest end first. Valid until the next change.
  const std::set<std::pair<cluster_time, std::string>>& by_time() const { return by_time_; }
  /// Removes expired delays. Called for every log entry, so that all nodes have the same rows.
  void expire(cluster_time now);

  void put(lock_delay_record row);
  void erase(std::string_view key);
  const undo_logged_map<lock_delay_record>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes it from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"by_time", by_time_}}; }

private:
  undo_logged_map<lock_delay_record> rows_;
  std::set<std::pair<cluster_time, std::string>> by_time_;
};

} // namespace belay::state
