#include "sim/environment/schedule.hpp"

#include "sim/environment/node_failure.hpp"

#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/scheduled_actor.hpp>

#include <algorithm>

namespace belay::sim {

namespace {

constexpr stream order{stream_kind::schedule, 0};
// Deep enough in the queue to swap any two messages that matter.
constexpr std::size_t shuffle_depth = 16;

caf::resumable* resumable_of(const caf::actor& a) {
  return dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(a));
}

} // namespace

const char* name_of(actor_kind k) {
  constexpr const char* names[] = {
      "raft_peer", "fsm",    "watch_registry",     "session_reaper",      "log_writer",    "checkpointer", "links",
      "gateway",   "client", "lock_delay_tracker", "registration_keeper", "health_checks", "sockets"};
  static_assert(std::size(names) == static_cast<std::size_t>(actor_kind::sockets) + 1);
  return names[static_cast<std::size_t>(k)];
}

schedule::schedule(tape& choices, event_trace& trace)
    : tape_(choices), trace_(trace), system_(std::make_unique<caf::actor_system>(config_)),
      coordinator_(&dynamic_cast<caf::scheduler::test_coordinator&>(system_->scheduler())) {
  // An epoch that differs from any deadline of zero.
  coordinator_->clock().current_time += std::chrono::hours(1);
  epoch_ = coordinator_->clock().current_time;
}

schedule::~schedule() {
  busy = nullptr;
  before = nullptr;
  after_message = nullptr;
  std::set<std::size_t> nodes;
  for (const auto& [number, s] : slots_)
    nodes.insert(s.who.node);
  for (auto n : nodes)
    kill(n);
  coordinator_->clock().cancel_all();
  while (coordinator_->try_run_once()) {
  }
  // The destructor of the actor system would wait for them indefinitely.
  INVARIANT(system_->registry().running() == 0);
}

virtual_time schedule::now() const {
  return coordinator_->clock().current_time - epoch_;
}

std::chrono::steady_clock::time_point schedule::system_now() const {
  return coordinator_->clock().current_time;
}

void schedule::at(virtual_time when, std::function<void()> what) {
  events_.emplace(std::max(when, now()), std::move(what));
}

std::uint64_t schedule::enlist(std::size_t node, actor_kind kind, caf::actor handle) {
  auto* r = resumable_of(handle);
  INVARIANT(r != nullptr);
  auto* scheduled = dynamic_cast<caf::scheduled_actor*>(r);
  INVARIANT(scheduled != nullptr);
  scheduled->set_exception_handler([](std::exception_ptr& e) -> caf::error {
    try {
      std::rethrow_exception(e);
    } catch (const node_failure&) { // the thrower has recorded it
    }
    return caf::exit_reason::kill;
  });
  const auto number = ++slots_made_;
  auto& s = slots_[number];
  s.who = {number, node, kind, std::move(handle)};
  s.actor = caf::actor_cast<caf::abstract_actor*>(s.who.handle);
  by_address_[r] = &s;
  return number;
}

schedule::thread schedule::thread_of(const enlisted& who) {
  switch (who.kind) {
  case actor_kind::watches:
  case actor_kind::reaper:
  case actor_kind::delays:
  case actor_kind::gateway:
  case actor_kind::sockets:
  case actor_kind::agent:
    return {who.node, actor_kind::fsm};
  case actor_kind::links:
    return {who.node, actor_kind::raft_peer};
  default:
    return {who.node, who.kind};
  }
}

schedule::slot* schedule::slot_of(caf::resumable* r) {
  const auto it = by_address_.find(r);
  return it == by_address_.end() ? nullptr : it->second;
}

void schedule::bring_back(slot& s) {
  if (s.put_aside == nullptr)
    return;
  coordinator_->jobs.push_back(s.put_aside);
  s.put_aside = nullptr;
  s.due = s.due || s.busy;
  s.busy = false;
}

void schedule::kill(std::size_t node) {
  paused_.erase(node);
  std::erase_if(occupied_, [node](const auto& each) { return each.first.first == node; });
  for (auto it = slots_.begin(); it != slots_.end();) {
    auto& s = it->second;
    if (s.who.node != node) {
      ++it;
      continue;
    }
    bring_back(s);
    // The exit message precedes its mail and is handled now, so nothing that is not begun happens.
    const auto& a = s.who.handle;
    caf::actor_cast<caf::abstract_actor*>(a)->enqueue(
        nullptr, caf::make_message_id(caf::message_priority::high),
        caf::make_message(caf::exit_msg{a->address(), caf::exit_reason::kill}), nullptr);
    if (coordinator_->prioritize(a))
      coordinator_->try_run_once();
    by_address_.erase(resumable_of(a));
    it = slots_.erase(it);
  }
}

bool schedule::is_busy(std::size_t node, actor_kind kind) const {
  return std::any_of(slots_.begin(), slots_.end(), [&](const auto& item) {
    const auto& s = item.second;
    return s.who.node == node && s.who.kind == kind && s.busy;
  });
}

bool schedule::finish_busy(std::size_t node, actor_kind kind) {
  for (auto& [number, s] : slots_) {
    if (s.who.node != node || s.who.kind != kind || !s.busy)
      continue;
    coordinator_->jobs.push_front(s.put_aside);
    s.put_aside = nullptr;
    s.busy = false;
    run_front(&s);
    return true;
  }
  return false;
}

void schedule::pause(std::size_t node) {
  paused_.insert(node);
}

void schedule::resume(std::size_t node) {
  if (paused_.erase(node) == 0)
    return;
  for (auto& [number, s] : slots_)
    if (s.who.node == node && !s.busy) // a busy actor comes back when it is done
      bring_back(s);
}

void schedule::run_front(slot* s) {
  if (s != nullptr) {
    s->due = false;
    trace_.add(s->who.number ^ static_cast<std::uint64_t>(now().count()) << 20);
    if (before)
      if (auto* mail = s->actor->peek_at_next_mailbox_element())
        before(s->who, mail->content());
  }
  ++messages_;
  trace_.count();
  const auto who = s != nullptr ? s->who : enlisted{}; // the handler may end the actor
  coordinator_->try_run_once();
  if (s != nullptr && after_message)
    after_message(who);
}

void schedule::put_aside(slot& s, virtual_time until) {
  auto& jobs = coordinator_->jobs;
  s.busy = true;
  s.put_aside = jobs.front();
  jobs.pop_front();
  at(until, [this, number = s.who.number] {
    if (const auto it = slots_.find(number); it != slots_.end() && it->second.busy)
      bring_back(it->second);
  });
}

bool schedule::step(virtual_time end) {
  auto& jobs = coordinator_->jobs;
  while (!jobs.empty()) {
    const auto depth = std::min(jobs.size(), shuffle_depth);
    if (shuffle_per_million > 0 && depth > 1)
      std::swap(jobs.front(), jobs[tape_.choose_rarely(order, depth, shuffle_per_million)]);
    auto* r = jobs.front();
    auto* s = slot_of(r);
    if (s != nullptr && paused_.contains(s->who.node)) {
      s->put_aside = r;
      jobs.pop_front();
      continue;
    }
    if (s != nullptr && !s->due && busy) {
      auto until = now();
      const auto of_thread = occupied_.empty() ? occupied_.end() : occupied_.find(thread_of(s->who));
      if (of_thread != occupied_.end() && of_thread->second > until) {
        until = of_thread->second;
      } else if (const auto d = busy(s->who); d > virtual_time::zero()) {
        until += d;
        if (s->who.node != no_node)
          occupied_[thread_of(s->who)] = until;
      }
      if (until > now()) {
        put_aside(*s, until);
        continue;
      }
    }
    run_front(s);
    return true;
  }
  if (now() >= end)
    return false;
  go_on(end);
  return true;
}

void schedule::go_on(virtual_time until) {
  auto next = until;
  if (!events_.empty())
    next = std::min(next, events_.begin()->first);
  const auto& timers = coordinator_->clock().schedule();
  if (!timers.empty())
    next = std::min<virtual_time>(next, timers.begin()->first - epoch_);
  coordinator_->clock().advance_time(std::max(next - now(), virtual_time::zero()));
  while (!events_.empty() && events_.begin()->first <= now()) {
    auto what = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    trace_.count();
    what();
  }
}

} // namespace belay::sim
