#include "sim/checkers/models/outcomes_model.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

// docs/reference/exactly-once.md, "Times".
constexpr std::uint64_t kept_ms = 600'000, copies_taken_ms = 300'000;

} // namespace

bool outcomes_model::pass_time(log_index at, cluster_time now) {
  at_ = at;
  const bool forgets = std::erase_if(live_, [&](const auto& each) {
                         const bool over = each.second->until <= now.value;
                         if (over)
                           past_[each.first].push_back({at, nullptr});
                         return over;
                       }) != 0;
  if (forgets)
    counts_[at] = live_.size();
  return forgets;
}

modelled_outcome_ptr outcomes_model::find(const owned_key& key) const {
  const auto it = live_.find(key);
  return it == live_.end() ? nullptr : it->second;
}

void outcomes_model::keep(const owned_key& key, modelled_outcome o) {
  auto row = std::make_shared<const modelled_outcome>(std::move(o));
  live_[key] = row;
  past_[key].push_back({at_, std::move(row)});
  counts_[at_] = live_.size();
}

/// docs/reference/exactly-once.md, "Restores".
void outcomes_model::go_back(log_index archive, cluster_time now) {
  for (const auto& [key, past] : past_) {
    const auto then = live_.contains(key) ? nullptr : find_at(key, archive);
    if (then == nullptr)
      continue;
    PROBE("once: a restore brings back an outcome that was forgotten");
    auto again = *then;
    again.until = end_of(now);
    keep(key, std::move(again)); // adds to the history of an existing key
  }
}

std::size_t outcomes_model::count_at(log_index s) const {
  const auto later = counts_.upper_bound(s);
  return later == counts_.begin() ? 0 : std::prev(later)->second;
}

modelled_outcome_ptr outcomes_model::find_at(const owned_key& key, log_index s) const {
  const auto it = past_.find(key);
  if (it == past_.end())
    return nullptr;
  const auto& all = it->second;
  const auto later =
      std::upper_bound(all.begin(), all.end(), s, [](log_index i, const version& v) { return i < v.at; });
  return later == all.begin() ? nullptr : std::prev(later)->row;
}

bool outcomes_model::takes(cluster_time requested, cluster_time now) {
  return requested <= now && now.value - requested.value < copies_taken_ms;
}

std::uint64_t outcomes_model::end_of(cluster_time now) {
  return now.value + kept_ms;
}

} // namespace belay::sim
