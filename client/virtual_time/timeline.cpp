#include "client/virtual_time/timeline.hpp"

#include <algorithm>

namespace belay::virtual_time {

std::uint64_t tape::draw(std::uint64_t n) {
  ++count_;
  // splitmix64
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % n;
}

void timeline::at(instant when, std::function<void()> event) {
  events_.emplace(std::pair(std::max(when, now_), order_++), std::move(event));
}

bool timeline::step() {
  if (events_.empty())
    return false;
  auto first = events_.begin();
  now_ = first->first.first;
  auto event = std::move(first->second);
  events_.erase(first);
  ++steps_;
  event();
  return true;
}

bool timeline::run_until(instant end, const std::function<bool()>& holds) {
  while (!holds()) {
    if (events_.empty() || events_.begin()->first.first > end)
      return false;
    step();
  }
  return true;
}

instant process::local_of(instant global) const {
  return global + (global - origin_) / 1'000'000 * clock_ppm_;
}

instant process::global_of(instant local) const {
  if (clock_ppm_ == 0)
    return local;
  // A time at which its clock shows at least that: both divisions round down, by less than 1 ms.
  return origin_ + (local - origin_) / (1'000'000 + clock_ppm_) * 1'000'000 + milliseconds(2);
}

void process::maybe_pause(std::uint32_t per_million) {
  auto longest = time_.rates().pause_max;
  if (longest.count() > 0 && time_.chance().chance(per_million))
    pause(milliseconds(1 + time_.chance().draw(static_cast<std::uint64_t>(longest.count()))));
}

void process::pause(std::chrono::nanoseconds length) {
  frozen_until_ = global() + length;
}

instant process::now() {
  // The pause comes after the clock was read, before the process can use the result.
  auto seen = local_of(global());
  maybe_pause(time_.rates().pause_at_clock);
  return seen;
}

std::uint64_t process::enlist(operation& op) {
  op.ticket = next_ticket_++;
  waiting_.emplace(op.ticket, &op);
  return op.ticket;
}

void process::end(std::uint64_t ticket, instant when, bool stopped, answer a) {
  time_.at(when, [this, ticket, stopped, a = std::move(a)]() mutable {
    if (time_.now() < frozen_until_) {
      end(ticket, frozen_until_, stopped, std::move(a));
      return;
    }
    auto found = waiting_.find(ticket);
    if (found == waiting_.end())
      return;
    auto* op = found->second;
    waiting_.erase(found);
    op->finish(stopped, std::move(a));
  });
}

void process::sleep(operation& op, instant until) {
  end(enlist(op), std::max(global_of(until), global()), false, answer());
}

void process::ask(operation& op, const request& q, instant deadline) {
  auto ticket = enlist(op);
  maybe_pause(time_.rates().pause_before_send);
  end(ticket, std::max(global_of(deadline), global()), false, answer::none(true, "no response in time"));

  auto one_way = [this] {
    auto longest = static_cast<std::uint64_t>(std::chrono::microseconds(time_.rates().latency_max).count());
    return std::chrono::microseconds(1 + time_.chance().draw(std::max<std::uint64_t>(longest, 1)));
  };
  if (time_.chance().chance(time_.rates().request_lost))
    return;
  auto arrives = global() + one_way();
  if (time_.chance().chance(time_.rates().request_late))
    arrives += milliseconds(time_.chance().draw(static_cast<std::uint64_t>(time_.rates().late_max.count())));
  time_.at(arrives, [this, ticket, q, one_way] {
    server_.take(q, [this, ticket, one_way](answer a) {
      if (!time_.chance().chance(time_.rates().answer_lost))
        end(ticket, time_.now() + one_way(), false, std::move(a));
    });
  });
}

void process::stop(operation& op) {
  end(op.ticket, global(), true, answer());
}

void process::forget(operation& op) noexcept {
  waiting_.erase(op.ticket);
}

} // namespace belay::virtual_time
