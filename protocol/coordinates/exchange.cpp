#include "protocol/coordinates/exchange.hpp"

#include <algorithm>
#include <memory>

namespace belay::coordinates {

namespace {

// Stamps further ahead of this server's clock are rejected, because one false message would outlive
// all true ones. 2^32 ms are 49 days, more than clocks of working servers differ.
constexpr std::uint64_t ahead_max_ms = 1ULL << 32;

} // namespace

std::vector<std::pair<node_id, message>> exchange::tick(const std::set<node_id>& peers, local_time now,
                                                        std::uint64_t wall_ms) {
  std::vector<std::pair<node_id, message>> out;
  if (now < next_tick_)
    return out;
  if (next_tick_ == local_time{0})
    began_ = now;
  next_tick_ = now + interval;
  std::erase_if(peers_, [&](const auto& known) { return !peers.contains(known.first); });
  for (const auto peer : peers)
    peers_.try_emplace(peer, peer_state{0, last_change_, std::nullopt});
  announce_own(now, wall_ms);
  for (auto& [peer, state] : peers_)
    append_message(peer, state, out);
  ask_next(now, out);
  return out;
}

void exchange::reconnected(node_id peer) {
  peers_.erase(peer);
  estimator_.forget(peer);
}

bool exchange::answered(node_id from, const probe_answer& a, local_time now) {
  const auto at = peers_.find(from);
  if (at == peers_.end() || !at->second.requested ||
      static_cast<std::uint64_t>(at->second.requested->count()) != a.sent_ns)
    return false;
  const auto sent = *std::exchange(at->second.requested, std::nullopt);
  const bool counts = estimator_.measured(from, a.own, now - sent);
  has_measured_ = has_measured_ || counts;
  return counts;
}

void exchange::received(const news& n, std::uint64_t wall_ms) {
  for (const auto& r : n.rows) {
    if (!is_usable(r) || r.stamp > wall_ms + ahead_max_ms)
      continue;
    const auto k = table::key_of(r.node, r.segment);
    if (k == table::key_of(own_name_, {})) // this server knows its own best
      continue;
    if (const auto known = table_.find(k); known == nullptr || known->stamp < r.stamp)
      store(r, false);
  }
}

bool exchange::put(std::string node, std::string segment, const coordinate& at, std::uint64_t wall_ms) {
  row r{std::move(node), std::move(segment), at, std::max(wall_ms, table_.newest() + 1)};
  if (!is_usable(r))
    return false;
  store(std::move(r), true);
  return true;
}

void exchange::store(row r, bool ours) {
  auto k = table::key_of(r.node, r.segment);
  table_.put(std::make_shared<const row>(std::move(r)));
  if (const auto before = change_of_.find(k); before != change_of_.end())
    changes_.erase(before->second);
  changes_[++last_change_] = {k, ours};
  change_of_[std::move(k)] = last_change_;
  changed_ = true;
  if (changes_.size() <= rows_max)
    return;
  const auto oldest = changes_.begin();
  table_.erase(oldest->second.of);
  change_of_.erase(oldest->second.of);
  changes_.erase(oldest);
}

/// A new server does not send its first coordinate, the origin, at once, because it would soon be
/// wrong. A lone server stays at the origin.
void exchange::announce_own(local_time now, std::uint64_t wall_ms) {
  const bool due = sent_own_ ? now - own_sent_at_ >= own_interval : has_measured_ || now - began_ >= own_interval;
  if (!due)
    return;
  own_sent_at_ = now;
  const auto before = table_.find(table::key_of(own_name_, {}));
  if (sent_own_ && before != nullptr && before->at == estimator_.own())
    return;
  sent_own_ = true;
  put(own_name_, {}, estimator_.own(), wall_ms);
}

/// A peer with a new connection gets all rows, since earlier ones may be lost. Later it gets only
/// the rows that entered the cluster here; the servers that received the others send those.
void exchange::append_message(node_id peer, peer_state& state, std::vector<std::pair<node_id, message>>& out) const {
  news n;
  for (auto at = changes_.upper_bound(state.sent_up_to); at != changes_.end() && n.rows.size() < news_rows_max; ++at) {
    state.sent_up_to = at->first;
    if (at->second.ours || at->first <= state.all_up_to)
      n.rows.push_back(*table_.find(at->second.of));
  }
  if (!n.rows.empty())
    out.emplace_back(peer, std::move(n));
}

void exchange::ask_next(local_time now, std::vector<std::pair<node_id, message>>& out) {
  if (peers_.empty())
    return;
  auto next = peers_.upper_bound(requested_last_);
  if (next == peers_.end())
    next = peers_.begin();
  requested_last_ = next->first;
  next->second.requested = now;
  out.emplace_back(next->first, probe{static_cast<std::uint64_t>(now.count())});
}

table_ptr exchange::take_changed(local_time now) {
  if (!changed_ || (taken_at_ && now - *taken_at_ < interval))
    return nullptr;
  changed_ = false;
  taken_at_ = now;
  return std::make_shared<const table>(table_);
}

} // namespace belay::coordinates
