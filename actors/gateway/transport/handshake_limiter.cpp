#include "actors/gateway/transport/handshake_limiter.hpp"

#include "actors/telemetry/log.hpp"

#include <utility>

namespace belay::actors {

namespace {

// Pause before waiting handshakes are served again, about as long as one or two of them take. It is
// the longest delay of others when they exceed their share.
constexpr std::chrono::milliseconds between_looks{2};

} // namespace

handshake_limiter::handshake_limiter(boost::asio::io_context& loop, double share_of_time)
    : timer_(loop), share_of_time_(share_of_time) {
  budget_.earn(time_budget::saved_max);
}

void handshake_limiter::earn() {
  const auto now = clock::now();
  budget_.earn(std::chrono::duration_cast<std::chrono::nanoseconds>((now - earned_until_) * share_of_time_));
  earned_until_ = now;
}

bool handshake_limiter::may_work() {
  if (!waiting_.empty())
    return false;
  earn();
  return !budget_.overdrawn();
}

void handshake_limiter::wait(std::weak_ptr<waiter> who) {
  waiting_.push_back(std::move(who));
  if (waiting_.size() == 1)
    wake_later();
}

void handshake_limiter::wake_later() {
  timer_.expires_after(between_looks);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& ec) {
    if (!ec && !self->stopped_)
      self->serve();
  });
}

void handshake_limiter::serve() {
  earn();
  while (!waiting_.empty() && !budget_.overdrawn() && !stopped_) {
    const auto next = waiting_.front().lock();
    waiting_.pop_front();
    if (next != nullptr)
      next->on_time_granted();
  }
  if (!waiting_.empty() && !stopped_)
    wake_later();
}

void handshake_limiter::stop() {
  stopped_ = true;
  waiting_.clear();
  timer_.cancel();
}

void handshake_limiter::log_rejection(const std::string& address, const std::string& why, monotonic_time now) {
  const auto& from = address.empty() ? std::string("unix socket") : address;
  if (log_limit_.may_write(from + " " + why, now))
    log::warn("http_gateway", "HTTPS connection rejected",
              {{"address", from}, {"reason", why}, {"refusals_not_logged", log_limit_.take_suppressed()}});
}

} // namespace belay::actors
