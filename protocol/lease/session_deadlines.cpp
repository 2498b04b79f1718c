#include "protocol/lease/session_deadlines.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/text_hash.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

namespace belay::lease {

// Renewals are the most frequent requests. A renewal only stores the new deadline and leaves the
// session where it is in the order. That position is never too late; it is corrected when it is
// reached.
struct session_deadlines::impl {
  struct timer {
    std::chrono::nanoseconds ttl{};
    local_time due{};
    local_time report_at{}; ///< due, or later if it was returned already
    local_time position{};  ///< in the order; not after report_at
    precision how = precision::lower_bound;
  };
  using timers = std::unordered_map<std::string, timer, text_hash, std::equal_to<>>;
  using placed = std::pair<local_time, timers::value_type*>;
  struct earlier {
    bool operator()(const placed& a, const placed& b) const {
      return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
    }
  };
  using order = std::set<placed, earlier>; ///< the addresses of by_id's elements do not change

  timers by_id;
  order by_position;
  order exact_by_position; ///< exact ones only

  void report(timers::value_type& one, local_time at) {
    one.second.report_at = at;
    if (at < one.second.position)
      move(one);
  }
  /// Moves it to its correct position.
  void move(timers::value_type& one) {
    take_out(one);
    put_in(one);
  }
  void put_in(timers::value_type& one) {
    one.second.position = one.second.report_at;
    const bool fresh = by_position.emplace(one.second.position, &one).second;
    INVARIANT(fresh);
    if (one.second.how == precision::exact)
      exact_by_position.emplace(one.second.position, &one);
    INVARIANT(exact_by_position.size() <= by_position.size());
  }
  void take_out(timers::value_type& one) {
    const auto taken = by_position.erase({one.second.position, &one});
    INVARIANT(taken == 1); // else the session would be due at a time that was renewed
    const auto exact = exact_by_position.erase({one.second.position, &one});
    INVARIANT(exact == (one.second.how == precision::exact ? 1U : 0U));
  }
  /// The first `max` of `some` before `until`. Moves the others that it meets to their correct
  /// positions.
  std::vector<timers::value_type*> before(local_time until, const order& some, std::size_t max = SIZE_MAX) {
    std::vector<timers::value_type*> found, later;
    for (const auto& [position, one] : some) {
      if (position >= until || found.size() == max)
        break;
      (one->second.report_at < until ? found : later).push_back(one);
    }
    for (auto* one : later)
      move(*one);
    return found;
  }
};

session_deadlines::session_deadlines() : impl_(std::make_unique<impl>()) {}
session_deadlines::~session_deadlines() = default;
session_deadlines::session_deadlines(session_deadlines&&) noexcept = default;

void session_deadlines::restart(std::string_view id, std::chrono::nanoseconds ttl, local_time now, precision p) {
  PRECONDITION(ttl.count() > 0);
  remove(id);
  const auto due = now + lifetime(ttl, p);
  const auto at = impl_->by_id.emplace(std::string(id), impl::timer{ttl, due, due, due, p}).first;
  impl_->put_in(*at);
  INVARIANT(impl_->by_position.size() == impl_->by_id.size());
}

bool session_deadlines::renew(std::string_view id, local_time now) {
  const auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return false;
  at->second.due = now + lifetime(at->second.ttl, at->second.how);
  impl_->report(*at, at->second.due);
  return true;
}

std::optional<std::chrono::nanoseconds> session_deadlines::left(std::string_view id, local_time now) const {
  const auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return std::nullopt;
  return std::max(at->second.due - now, local_time{0});
}

void session_deadlines::remove(std::string_view id) {
  const auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return;
  impl_->take_out(*at);
  impl_->by_id.erase(at);
  INVARIANT(impl_->by_position.size() == impl_->by_id.size());
}

void session_deadlines::clear() {
  impl_->by_position.clear();
  impl_->exact_by_position.clear();
  impl_->by_id.clear();
}

std::vector<std::string> session_deadlines::due(local_time now, std::chrono::nanoseconds retry_after, std::size_t max) {
  PRECONDITION(retry_after.count() > 0);
  auto found = impl_->before(now + local_time{1}, impl_->by_position, max);
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) {
    return impl::earlier{}({a->second.due, a}, {b->second.due, b});
  });
  std::vector<std::string> ids;
  for (auto* one : found) {
    ids.push_back(one->first);
    one->second.report_at = now + retry_after;
    impl_->move(*one);
  }
  INVARIANT(impl_->by_position.size() == impl_->by_id.size()); // those that are due stay
  return ids;
}

std::optional<local_time> session_deadlines::next_exact() {
  auto& order = impl_->exact_by_position;
  while (!order.empty() && order.begin()->first < order.begin()->second->second.report_at)
    impl_->move(*order.begin()->second);
  INVARIANT(order.empty() || order.begin()->first == order.begin()->second->second.report_at);
  return order.empty() ? std::nullopt : std::optional(order.begin()->first);
}

void session_deadlines::make_up_for(std::chrono::nanoseconds late, local_time now) {
  PRECONDITION(late.count() > 0);
  for (auto* one : impl_->before(now + late, impl_->exact_by_position)) {
    const auto later = std::min(one->second.report_at + late, now + late);
    one->second.due += later - one->second.report_at;
    one->second.report_at = later;
    impl_->move(*one);
  }
}

std::size_t session_deadlines::size() const {
  return impl_->by_id.size();
}

} // namespace belay::lease
