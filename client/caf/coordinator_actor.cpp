#include "client/caf/coordinator_actor.hpp"

#include "client/core/mutants.hpp"

#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace belay {
inline namespace v0 {
namespace caf {
namespace detail {

namespace {

/// CAF's timers stop during a suspension; the clock of sessions does not. So check it this often.
constexpr std::chrono::seconds look_at_clock{5};

} // namespace

coordinator_state::coordinator_state(::caf::actor_config& config, client_options options, coordinator_options more)
    : coordinator_self::base(config), options_(std::move(options)), more_(std::move(more)) {
  ::caf::weak_actor_ptr weak(ctrl());
  auto to_loop = [weak](std::uint64_t ticket, answer a) {
    if (auto here = weak.lock())
      ::caf::anon_send(::caf::actor_cast<coordinator_self>(here), answered{ticket, std::move(a)});
  };
  auto wake = [this](instant at) {
    auto length = std::clamp<std::chrono::nanoseconds>(at - more_.now(), std::chrono::nanoseconds(0), look_at_clock);
    delayed_send(this, length, tick{++tick_number_});
  };
  env_ = std::make_unique<loop_environment>(std::exchange(more_.over, nullptr), more_.now, more_.seed,
                                            std::move(to_loop), std::move(wake));
  session_ = std::make_unique<belay::detail::shared_session>(*env_, options_.session);
  (*session_)->on_change([this] { look_for_losses(); });
}

coordinator_self::behavior_type coordinator_state::make_behavior() {
  set_down_handler([this](::caf::down_msg& m) {
    ended(m.source);
    settle();
  });
  set_exit_handler([this](::caf::exit_msg& m) {
    exit_message(m);
    settle();
  });
  // Errors of actors that cannot handle what they were sent.
  set_error_handler([](::caf::error&) {});
  set_default_handler(::caf::drop);
  using granting = ::caf::delegated<grant>;
  using reading_key = ::caf::delegated<key_value>;
  using nothing_more = ::caf::delegated<void>;
  return {
      [this](lock& m) {
        mutex_options o;
        o.value = std::move(m.value);
        o.how = m.how;
        take(m.key, m.within,
             [key = m.key, o](session& s, deadline p) { return belay::detail::take_mutex(s, key, o, p); });
        return granting();
      },
      [this](permits& m) {
        take(m.name, m.within, [m](session& s, deadline p) {
          return belay::detail::take_permits(s, m.name, m.max, m.how, m.permits, p);
        });
        return granting();
      },
      [this](campaign& m) {
        take(m.name, m.within,
             [m](session& s, deadline p) { return belay::detail::take_leadership(s, m.name, m.how, m.value, p); });
        return granting();
      },
      [this](const check& m) {
        begin_check(m);
        return granting();
      },
      [this](const release& m) {
        begin_release(m);
        return nothing_more();
      },
      [this](const transfer& m) {
        begin_transfer(m);
        return nothing_more();
      },
      [this](who_leads& m) {
        begin(replies::always, std::move(m), &coordinator_state::serve_who_leads);
        return ::caf::delegated<leadership>();
      },
      [this](get& m) {
        begin(replies::always, std::move(m), &coordinator_state::serve_get);
        return reading_key();
      },
      [this](put& m) {
        begin(replies::to_requests, std::move(m), &coordinator_state::serve_put);
        return nothing_more();
      },
      [this](follow& m) {
        begin_follow(std::move(m));
        return reading_key();
      },
      [this](const unfollow& m) {
        end_follow(m);
        return nothing_more();
      },
      [this](look_at_session) { return session_as_it_is(); },
      [this](close) {
        if (current_message_id().is_request())
          closers_.push_back(make_response_promise());
        begin_to_close(::caf::error());
        settle();
        return nothing_more();
      },
      [this](answered& m) {
        env_->answered(m.ticket, std::move(m.received));
        settle();
      },
      [this](const tick& m) {
        if (m.number == tick_number_)
          env_->tick();
        settle();
      },
  };
}

void coordinator_state::on_exit() {
  // If it was not closed, it was killed: the session ends by its TTL.
  for (auto& [number, c] : std::exchange(calls_, {})) {
    auto over = std::move(c->running);
    if (c->needs_reply)
      c->reply.deliver(error_to_send(closed()));
  }
  over_.clear();
  close_.reset();
  leases_.clear();
  follows_.clear();
  session_.reset();
  env_.reset();
}

error coordinator_state::closed() {
  return error(outcome::refused, reason::closed, "the coordinator is closed");
}

void coordinator_state::attend(const party& who) {
  if (parties_[who]++ == 0)
    monitor(who);
}

void coordinator_state::leave(const party& who) {
  auto found = parties_.find(who);
  if (found == parties_.end() || (--found->second > 0 && !CLIENT_MUTANT(caf_watch_uncounted)))
    return;
  parties_.erase(found);
  demonitor(who);
}

/// An actor has ended: withdraws its waiting calls and releases its leases, all at once.
void coordinator_state::ended(const party& who) {
  if (parties_.erase(who) == 0)
    return;
  std::vector<std::uint64_t> withdrawn;
  for (const auto& [number, c] : calls_)
    if (c->withdrawn_with_actor && c->from == who)
      withdrawn.push_back(number);
  for (auto number : withdrawn)
    forget_call(number);
  for (auto h = leases_.begin(); h != leases_.end();) {
    if (h->second.holder != who || CLIENT_MUTANT(caf_end_ignored)) {
      ++h;
      continue;
    }
    auto it = std::move(h->second.it);
    h = leases_.erase(h);
    auto number = next_call_++;
    auto& c = calls_[number] = std::make_unique<call>();
    c->needs_reply = false;
    start(number, release_late(number, std::move(it)));
  }
}

void coordinator_state::exit_message(::caf::exit_msg& m) {
  // A linked actor that ends is the source, like a sender of send_exit(); anon_send_exit() is not.
  bool was_sent = !m.source || m.source == address();
  if (was_sent)
    begin_to_close(std::move(m.reason));
  else
    ended(m.source);
}

void coordinator_state::begin_to_close(::caf::error cause) {
  if (std::exchange(closing_, true))
    return;
  cause_ = std::move(cause);
  while (!calls_.empty())
    finish(calls_.begin()->first, error_to_send(closed()));
  while (!leases_.empty())
    lose(leases_.begin(), "the coordinator was closed");
  over_.clear();
  close_ = close_session(within(options_.linger));
  close_.start();
}

task<void> coordinator_state::close_session(deadline limit) {
  auto state = (*session_)->state();
  if (state == session_state::live || state == session_state::uncertain) {
    status ended = co_await (*session_)->close(limit);
    static_cast<void>(ended);
  }
  closed_ = true;
}

void coordinator_state::look_for_losses() {
  if ((*session_)->state() != session_state::lost)
    return;
  std::string cause = (*session_)->lost_reason();
  while (!leases_.empty())
    lose(leases_.begin(), cause);
}

void coordinator_state::notify_lost(const party& holder, std::uint64_t id, const std::string& name,
                                    const std::string& cause) {
  if (auto there = ::caf::actor_cast<::caf::strong_actor_ptr>(holder))
    there->enqueue(ctrl(), ::caf::make_message_id(::caf::message_priority::high),
                   ::caf::make_message(lost{id, name, cause}), context());
}

void coordinator_state::lose(std::map<std::uint64_t, holding>::iterator h, const std::string& cause) {
  auto id = h->first;
  auto gone = std::move(h->second);
  leases_.erase(h);
  notify_lost(gone.holder, id, gone.name, cause);
  leave(gone.holder);
}

void coordinator_state::settle() {
  // Destroy finished coroutines first: they must not resume.
  do {
    std::exchange(over_, {}).clear();
    env_->settle();
  } while (env_->has_stopped() || !over_.empty());
  if (!closed_)
    return;
  for (auto& closer : std::exchange(closers_, {}))
    closer.deliver(::caf::message());
  quit(cause_);
}

} // namespace detail
} // namespace caf
} // namespace v0
} // namespace belay
