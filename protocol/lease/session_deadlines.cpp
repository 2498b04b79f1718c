#include "protocol/lease/session_deadlines.hpp"

#include "protocol/base/check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace belay::lease {

struct session_deadlines::impl {
  struct timer {
    std::chrono::nanoseconds ttl;
    local_time due;
    local_time report_at; ///< due, or later when it was returned already
    precision how = precision::lower_bound;
  };
  using timers = std::map<std::string, timer, std::less<>>;

  timers by_id;
  using order = std::set<std::pair<local_time, std::string_view>>; ///< views into the keys of by_id, which do not move
  order by_report;
  order exact_by_report; ///< only those

  void schedule(timers::iterator at, local_time report_at) {
    unschedule(at);
    at->second.report_at = report_at;
    by_report.emplace(report_at, at->first);
    if (at->second.how == precision::exact)
      exact_by_report.emplace(report_at, at->first);
  }
  void unschedule(timers::iterator at) {
    by_report.erase({at->second.report_at, at->first});
    exact_by_report.erase({at->second.report_at, at->first});
  }
};

session_deadlines::session_deadlines() : impl_(std::make_unique<impl>()) {}
session_deadlines::~session_deadlines() = default;
session_deadlines::session_deadlines(session_deadlines&&) noexcept = default;

void session_deadlines::restart(std::string_view id, std::chrono::nanoseconds ttl, local_time now, precision p) {
  PRECONDITION(ttl.count() > 0);
  auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    at = impl_->by_id.emplace(std::string(id), impl::timer{}).first;
  at->second.ttl = ttl;
  at->second.how = p;
  at->second.due = now + lifetime(ttl, p);
  impl_->schedule(at, at->second.due);
}

bool session_deadlines::renew(std::string_view id, local_time now) {
  auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return false;
  at->second.due = now + lifetime(at->second.ttl, at->second.how);
  impl_->schedule(at, at->second.due);
  return true;
}

std::optional<std::chrono::nanoseconds> session_deadlines::left(std::string_view id, local_time now) const {
  auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return std::nullopt;
  return std::max(at->second.due - now, local_time{0});
}

void session_deadlines::remove(std::string_view id) {
  auto at = impl_->by_id.find(id);
  if (at == impl_->by_id.end())
    return;
  impl_->unschedule(at);
  impl_->by_id.erase(at);
}

void session_deadlines::clear() {
  impl_->by_report.clear();
  impl_->exact_by_report.clear();
  impl_->by_id.clear();
}

std::vector<std::string> session_deadlines::due(local_time now, std::chrono::nanoseconds retry_after) {
  std::vector<impl::timers::iterator> found;
  for (const auto& [report_at, id] : impl_->by_report) {
    if (report_at > now)
      break;
    found.push_back(impl_->by_id.find(id));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(a->second.due, std::string_view(a->first)) < std::pair(b->second.due, std::string_view(b->first));
  });
  std::vector<std::string> ids;
  for (const auto& at : found) {
    ids.push_back(at->first);
    impl_->schedule(at, now + retry_after);
  }
  return ids;
}

std::optional<local_time> session_deadlines::next_exact() const {
  return impl_->exact_by_report.empty() ? std::nullopt : std::optional(impl_->exact_by_report.begin()->first);
}

void session_deadlines::add_lateness(std::chrono::nanoseconds late) {
  if (late.count() <= 0)
    return;
  for (auto at = impl_->by_id.begin(); at != impl_->by_id.end(); ++at)
    if (at->second.how == precision::exact) {
      at->second.due += late;
      impl_->schedule(at, at->second.report_at + late);
    }
}

std::size_t session_deadlines::size() const {
  return impl_->by_id.size();
}

} // namespace belay::lease
