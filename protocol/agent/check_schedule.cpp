#include "protocol/agent/check_schedule.hpp"

#include "protocol/agent/alias_health.hpp"

#include <algorithm>

namespace belay::agent {

void check_schedule::arm(const std::string& id, timed& t, local_time at) {
  disarm(id, t);
  t.at = at;
  t.waiting = true;
  order_.emplace(at, id);
}

void check_schedule::disarm(const std::string& id, timed& t) {
  if (t.waiting)
    order_.erase({t.at, id});
  t.waiting = false;
}

void check_schedule::begin(const std::string& id, const check_definition& d, local_time now) {
  end(id);
  const auto kind = kind_of(d);
  if ((kind == check_kind::alias && !is_alias_elsewhere(d, node_)) || kind == check_kind::maintenance)
    return;
  auto& t = checks_[id];
  t.kind = kind;
  t.number = ++numbers_;
  t.successes_needed = d.success_before_passing;
  t.failures_needed = d.failures_before_critical;
  if (kind == check_kind::ttl) {
    t.interval = std::min<local_time>(local_time{d.ttl_ns}, interval_max);
    return arm(id, t, now + t.interval);
  }
  t.interval = std::clamp<local_time>(local_time{d.interval_ns}, interval_min, interval_max);
  // Random start, so that checks registered together do not always run together.
  const auto stagger = random_.below(static_cast<std::uint64_t>(t.interval.count()));
  arm(id, t, now + local_time{static_cast<std::int64_t>(stagger)});
}

void check_schedule::end(const std::string& id) {
  const auto it = checks_.find(id);
  if (it == checks_.end())
    return;
  disarm(id, it->second);
  checks_.erase(it);
}

bool check_schedule::renew(const std::string& id, std::string_view output, local_time now) {
  const auto it = checks_.find(id);
  if (it == checks_.end() || it->second.kind != check_kind::ttl)
    return false;
  it->second.last_output = output;
  arm(id, it->second, now + it->second.interval);
  return true;
}

check_schedule::due_now check_schedule::due(local_time now) {
  due_now d;
  while (!order_.empty() && order_.begin()->first <= now) {
    const auto id = order_.begin()->second;
    auto& t = checks_.at(id);
    disarm(id, t);
    if (t.kind != check_kind::ttl)
      d.runs.push_back({id, t.number});
    else if (t.last_output.empty())
      d.expired.push_back({id, "TTL expired"});
    else
      d.expired.push_back({id, "TTL expired (last output before timeout follows): " + t.last_output});
  }
  return d;
}

bool check_schedule::finished(const run& r, std::string_view status, local_time now) {
  const auto it = checks_.find(r.id);
  if (it == checks_.end() || it->second.number != r.number)
    return false;
  auto& t = it->second;
  arm(r.id, t, now + t.interval);
  if (status == "critical") {
    t.successes = 0;
    return ++t.failures >= t.failures_needed;
  }
  t.failures = 0;
  return ++t.successes >= t.successes_needed;
}

} // namespace belay::agent
