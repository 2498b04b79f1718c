#include "actors/gateway/cache_history.hpp"

#include <functional>

namespace belay::actors {

namespace {

std::uint64_t mixed(std::string_view secret, std::string_view target) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15; // the fraction of the golden ratio, as in Boost's hash_combine
  const std::hash<std::string_view> hash;
  return (hash(secret) * odd) ^ hash(target);
}

} // namespace

http::cache_state cache_history::answered(std::string_view secret, const http::cached_read& r, const circumstances& c,
                                          monotonic_time now) {
  const auto k = mixed(secret, r.target);
  const std::lock_guard lock(mutex_);
  forget_unused(now);
  const auto [it, fresh] = entries_.try_emplace(k);
  auto& e = it->second;
  if (fresh)
    e.lru_position = by_last_read_.insert(by_last_read_.end(), k);
  else
    by_last_read_.splice(by_last_read_.end(), by_last_read_, e.lru_position);
  e.used = now;
  const auto age = now - e.fetched;
  const bool too_old = !r.refreshed && (r.must_revalidate || (r.max_age && age > *r.max_age));
  if (fresh || c.waited || too_old) {
    e.fetched = now;
    return {};
  }
  return {true, r.refreshed ? c.silent_for : std::chrono::duration_cast<std::chrono::seconds>(age)};
}

void cache_history::forget_unused(monotonic_time now) {
  while (!by_last_read_.empty()) {
    const auto it = entries_.find(by_last_read_.front());
    if (entries_.size() <= settings_.entries_max && now - it->second.used <= settings_.unused)
      return;
    entries_.erase(it);
    by_last_read_.pop_front();
  }
}

std::size_t cache_history::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

} // namespace belay::actors
