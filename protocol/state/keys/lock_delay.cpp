#include "protocol/state/keys/lock_delay.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

std::optional<cluster_time> lock_delay::blocked_until(std::string_view key, cluster_time now) const {
  const auto* row = rows_.find(key);
  if (!row || row->until <= now)
    return std::nullopt;
  PROBE("kv: lock delay holds");
  return row->until;
}

void lock_delay::expire(cluster_time now) {
  while (!by_time_.empty() && by_time_.begin()->first <= now)
    erase(std::string(by_time_.begin()->second));
}

void lock_delay::put(lock_delay_record row) {
  auto p = rows_.locate(row.key);
  if (const auto* old = p.row()) {
    const auto forgotten = by_time_.erase({old->until, old->key});
    INVARIANT(forgotten == 1);
  }
  by_time_.emplace(row.until, row.key);
  const std::string key = row.key;
  rows_.put(p, key, std::move(row));
  INVARIANT(by_time_.size() == rows_.size());
}

void lock_delay::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (!p.row())
    return;
  by_time_.erase({p.row()->until, p.row()->key});
  rows_.erase(p, key);
  INVARIANT(by_time_.size() == rows_.size()); // else expire() finds a delay without a row for ever
}

} // namespace belay::state
