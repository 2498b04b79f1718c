#include "actors/tables/acquires_underway.hpp"

#include "protocol/base/check.hpp"

#include <iterator>
#include <utility>

namespace belay::actors {

bool acquires_underway::keep(const check_write& w, monotonic_time now) {
  const auto* key = key_of_acquire(w.command);
  INVARIANT(key != nullptr);
  const auto [at, first] = by_key_.try_emplace(*key);
  if (first || kept_ >= kept_max) {
    at->second.since = now;
    return false;
  }
  at->second.kept.push_back(w);
  ++kept_;
  return true;
}

std::vector<check_write> acquires_underway::taken(entry_iterator at) {
  auto kept = std::move(at->second.kept);
  INVARIANT(kept_ >= kept.size());
  kept_ -= kept.size();
  by_key_.erase(at);
  INVARIANT(!by_key_.empty() || kept_ == 0);
  return kept;
}

std::vector<check_write> acquires_underway::taken_if(const auto& over) {
  std::vector<check_write> all;
  for (auto at = by_key_.begin(); at != by_key_.end();) {
    const auto next = std::next(at);
    if (over(at->second)) {
      auto kept = taken(at);
      std::move(kept.begin(), kept.end(), std::back_inserter(all));
    }
    at = next;
  }
  return all;
}

std::vector<check_write> acquires_underway::applied(const std::string& key) {
  const auto at = by_key_.find(key);
  return at != by_key_.end() ? taken(at) : std::vector<check_write>{};
}

std::vector<check_write> acquires_underway::timed_out(monotonic_time now) {
  return taken_if([now](const underway& u) { return now - u.since >= timeout; });
}

std::vector<check_write> acquires_underway::all() {
  return taken_if([](const underway&) { return true; });
}

} // namespace belay::actors
