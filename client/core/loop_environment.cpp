#include "client/core/loop_environment.hpp"

#include <utility>

namespace belay {
inline namespace v0 {

loop_environment::loop_environment(std::shared_ptr<transport> over, std::function<instant()> now, std::uint64_t seed,
                                   std::function<void(std::uint64_t, answer)> to_loop,
                                   std::function<void(instant)> wake_loop, std::function<void()> settle_soon)
    : over_(std::move(over)), now_(std::move(now)), random_(seed ? seed : std::random_device{}()),
      to_loop_(std::move(to_loop)), wake_loop_(std::move(wake_loop)), settle_soon_(std::move(settle_soon)) {}

loop_environment::~loop_environment() = default;

void loop_environment::stop(operation& op) {
  if (stopped_.empty() && settle_soon_)
    settle_soon_();
  stopped_.push_back(op.ticket);
}

void loop_environment::sleep(operation& op, instant until) {
  op.ticket = next_ticket_++;
  sleeping_.emplace(std::pair(until, op.ticket), &op);
  wakes_at_.emplace(op.ticket, until);
  wake_for_first();
}

void loop_environment::ask(operation& op, const request& q, instant deadline) {
  op.ticket = next_ticket_++;
  pending_.emplace(op.ticket, &op);
  over_->ask(op.ticket, q, deadline,
             [deliver = to_loop_, ticket = op.ticket](answer a) { deliver(ticket, std::move(a)); });
}

void loop_environment::forget(operation& op) noexcept {
  if (auto found = wakes_at_.find(op.ticket); found != wakes_at_.end()) {
    sleeping_.erase(std::pair(found->second, op.ticket));
    wakes_at_.erase(found);
  } else if (pending_.erase(op.ticket) > 0) {
    over_->forget(op.ticket);
  }
}

void loop_environment::answered(std::uint64_t ticket, answer a) {
  auto found = pending_.find(ticket);
  if (found == pending_.end())
    return;
  auto* op = found->second;
  pending_.erase(found);
  op->finish(false, std::move(a));
}

void loop_environment::tick() {
  armed_ = instant::max();
  auto now = now_();
  while (!sleeping_.empty() && sleeping_.begin()->first.first <= now) {
    auto first = sleeping_.begin();
    auto* op = first->second;
    wakes_at_.erase(first->first.second);
    sleeping_.erase(first);
    op->finish(false, answer());
  }
  wake_for_first();
}

void loop_environment::settle() {
  while (!stopped_.empty()) {
    auto ticket = stopped_.front();
    stopped_.pop_front();
    operation* op = nullptr;
    if (auto found = wakes_at_.find(ticket); found != wakes_at_.end()) {
      auto sleeper = sleeping_.find(std::pair(found->second, ticket));
      op = sleeper->second;
      sleeping_.erase(sleeper);
      wakes_at_.erase(found);
    } else if (auto question = pending_.find(ticket); question != pending_.end()) {
      op = question->second;
      pending_.erase(question);
      over_->forget(ticket);
    }
    if (op != nullptr)
      op->finish(true, answer());
  }
}

void loop_environment::wake_for_first() {
  if (sleeping_.empty() || sleeping_.begin()->first.first >= armed_)
    return;
  armed_ = sleeping_.begin()->first.first;
  wake_loop_(armed_);
}

} // namespace v0
} // namespace belay
