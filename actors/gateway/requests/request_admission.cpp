#include "actors/gateway/requests/request_admission.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/http/request_class.hpp"

#include <string>
#include <utility>

namespace belay::actors {

namespace {

using forward::load_shedder;
using forward::request_class;

// An overload may last for hours.
constexpr std::chrono::seconds logged_again_after{10};

request_class class_of(const exchange& e) {
  return std::visit(overloaded{
                        [](const state::command& c) { return http::class_of(c); },
                        [](const http::read_request& r) { return http::class_of(r); },
                        [](const http::change_stream&) { return request_class::read; },
                        [](const http::agent_request& r) { return http::class_of(r); },
                        [](const auto&) { return request_class::vital; },
                    },
                    e.what);
}

/// Waiting for changes costs nothing; requests to the agent or by operators are not counted.
std::size_t load_of(const exchange& e) {
  const auto* read = std::get_if<http::read_request>(&e.what);
  const bool counts = read != nullptr ? read->min_index == 0 : std::holds_alternative<state::command>(e.what);
  return counts ? load_shedder::load_of(e.request_bytes) : 0;
}

} // namespace

bool request_admission::admit(exchange& e, std::size_t load, monotonic_time now) {
  e.load = load_of(e);
  e.passed_on = now;
  shedder_.look(now.time_since_epoch(), load);
  const auto c = class_of(e);
  arrivals_.look(now.time_since_epoch(), load);
  const bool in_time = arrivals_.admits(c); // counts it, too
  if (shedder_.admits(c, load) && in_time)
    return true;
  PROBE("gateway: request refused for overload");
  if (c == request_class::write) {
    ++writes_unlogged_;
    metrics_.shed_write();
  } else {
    ++reads_unlogged_;
    metrics_.shed_read();
  }
  last_refused_ = now;
  log_refusals(load, now);
  e.load = 0;
  e.answer = http::overloaded_response();
  return false;
}

void request_admission::decided(const exchange& e, const write_result& r, monotonic_time now) {
  // Writes rejected before the log, or waiting for a lock delay, do not show the log's delay.
  if (e.load != 0 && r.outcome == wire::call_outcome::done && !r.index.is_zero())
    shedder_.waited(load_shedder::stage::log, now - e.passed_on);
}

void request_admission::answered(const exchange& e, monotonic_time now) {
  if (e.load != 0 && !std::holds_alternative<state::command>(e.what)) // decided() measures writes
    shedder_.waited(load_shedder::stage::reading, now - e.passed_on);
}

void request_admission::tick(std::size_t load, monotonic_time now) {
  shedder_.look(now.time_since_epoch(), load);
  if (!logged_ || refusing() || now - last_refused_ < logged_again_after)
    return;
  logged_ = false;
  log::info("http", "no longer overloaded: accepting all requests",
            {{"writes", std::exchange(writes_unlogged_, 0)}, {"reads", std::exchange(reads_unlogged_, 0)}});
}

void request_admission::log_refusals(std::size_t load, monotonic_time now) {
  if (logged_ && now - logged_at_ < logged_again_after)
    return;
  logged_ = true;
  logged_at_ = now;
  log::warn("http", "overloaded: rejecting writes, then reads",
            {{"writes", std::exchange(writes_unlogged_, 0)},
             {"reads", std::exchange(reads_unlogged_, 0)},
             {"unfinished", load},
             {"limit", shedder_.limit() ? std::to_string(*shedder_.limit()) : "none"},
             {"percent_read_in_time", static_cast<int>(arrivals_.share() * 100)},
             {"settings", "limits.overload_delay, limits.overload_requests"}});
}

} // namespace belay::actors
