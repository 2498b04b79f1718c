#include <belay/clock_guard.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

#include <cstdlib>
#include <ctime>

namespace belay {
inline namespace v0 {

namespace {

/// The Date header of a response, in seconds since 1970.
std::optional<std::chrono::system_clock::time_point> date_of(const answer& a) {
  std::string text(a.header("Date"));
  std::tm t{};
  auto* end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &t);
  if (!end || *end)
    return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&t));
}

} // namespace

clock_guard::clock_guard(environment& env, clock_guard_options options) : env_(env), options_(std::move(options)) {}

clock_guard::finding clock_guard::of_own_clocks() {
  auto steady = env_.now();
  auto wall = options_.wall();
  auto before = std::exchange(last_, std::pair(steady, wall));
  if (!before)
    return own_;
  if (steady < before->first && !CLIENT_MUTANT(clock_back_ignored))
    return {clock_trust::distrusted, "the session clock went backwards"};
  auto passed = steady - before->first;
  auto shown = wall - before->second;
  auto drift = std::chrono::abs(std::chrono::duration_cast<std::chrono::nanoseconds>(shown) - passed);
  auto allowed = passed / 1'000'000 * static_cast<std::int64_t>(options_.rate_ppm) + milliseconds(50);
  if (drift <= allowed || CLIENT_MUTANT(rate_unchecked))
    return {};
  if (drift > options_.distrust_offset)
    return {clock_trust::distrusted, "the wall clock and the session clock run at different rates"};
  return {clock_trust::noticed, "the wall clock was set, or runs at another rate than the session clock"};
}

clock_guard::finding clock_guard::of_offset() const {
  if (std::chrono::abs(offset_) > options_.distrust_offset)
    return {clock_trust::distrusted, "the wall clock is far from that of the servers"};
  if (std::chrono::abs(offset_) > options_.notice_offset)
    return {clock_trust::noticed, "the wall clock differs from that of the servers"};
  return {};
}

/// The worse of both findings; if they are equal, the one about the local clocks.
clock_trust clock_guard::decide() {
  auto far = of_offset();
  now_ = far.trust > own_.trust ? std::move(far) : own_;
  return now_.trust;
}

clock_trust clock_guard::look() {
  own_ = of_own_clocks();
  if (CLIENT_MUTANT(offset_forgotten))
    offset_ = milliseconds(0);
  return decide();
}

task<result<clock_trust>> clock_guard::sample(deadline limit) {
  auto before = options_.wall();
  request q("GET", "/v1/status/leader");
  answer a = co_await ask(env_, q, limit.at(), limit);
  auto after = options_.wall();
  own_ = of_own_clocks();
  decide();
  auto date = date_of(a);
  if (!date) {
    error why = a.to_error(false);
    co_return why;
  }
  // The server read its clock between the two times, and truncated it to whole seconds.
  auto earliest = *date;
  auto latest = *date + std::chrono::seconds(CLIENT_MUTANT(date_taken_as_exact) ? 0 : 1);
  offset_ = milliseconds(0);
  if (before > latest)
    offset_ = std::chrono::duration_cast<milliseconds>(before - latest);
  else if (after < earliest)
    offset_ = -std::chrono::duration_cast<milliseconds>(earliest - after);
  co_return decide();
}

} // namespace v0
} // namespace belay
