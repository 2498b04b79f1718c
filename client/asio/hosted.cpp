#include <belay/loops/hosted.hpp>

#include "client/core/loop_environment.hpp"

#include "client/asio/face.hpp"

#include <algorithm>
#include <new>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

class hosted_call final : public call {
public:
  hosted_call(hosted_parts& p, std::uint64_t n, hosted_client::ended d) : parts_(p), number(n), done(std::move(d)) {}
  void end(std::exception_ptr thrown = nullptr) override;

private:
  hosted_parts& parts_;

public:
  std::uint64_t number;
  hosted_client::ended done;
  instant destroyed_at{};
  task<void> watch; ///< destroys the call when its grace period ends
};

} // namespace

class hosted_parts final : public face {
public:
  hosted_parts(host_loop loop, client_options o, std::shared_ptr<transport> over)
      : face(std::move(o)), loop_(std::move(loop)), over_(std::move(over)) {}
  ~hosted_parts() override { abandon(); }

  /// Destroying these may drop the last reference to the client.
  void abandon() {
    auto here = weak_from_this().lock();
    closed = true;
    ended_ = true;
    auto all = std::exchange(calls, {});
    auto numbered = std::exchange(numbered_, {});
    for (const auto& h : std::exchange(leases, {})) {
      h->safe_until = 0;
      h->it.forget();
      auto watchers = std::exchange(h->watchers, {});
    }
    for (const auto& c : all)
      c->running.reset();
    for (const auto& [number, c] : numbered)
      c->watch.reset();
    over_tasks_.clear();
    close_.reset();
    keep_.reset();
    held_by.reset();
    env_.reset();
  }

  void settle_in() {
    std::weak_ptr<hosted_parts> weak = self();
    auto to_loop = [post = loop_.post, weak](std::uint64_t ticket, answer a) {
      post([weak, ticket, a = std::move(a)]() mutable {
        if (auto here = weak.lock())
          here->answered(ticket, std::move(a));
      });
    };
    env_ = std::make_unique<loop_environment>(
        std::move(over_), [] { return lease_clock::now(); }, 0, std::move(to_loop), [this](instant at) { wake(at); },
        [this] { settle_soon(); });
    live_in(*env_);
  }

  void post(std::function<void()> what) override {
    std::weak_ptr<hosted_parts> weak = self();
    loop_.post([weak, what = std::move(what)] {
      auto here = weak.lock();
      if (!here) {
        what();
        return;
      }
      entry inside(*here);
      what();
    });
  }
  error run(whose, job, bool, milliseconds, std::stop_token) override {
    return error(outcome::refused, reason::invalid,
                 "blocking calls are not allowed on an event loop: release it with the client that acquired it");
  }

  void begin_call(std::uint64_t number, job make, bool with_session, milliseconds within, hosted_client::ended done) {
    if (!usable()) {
      loop_.post([done = std::move(done)] { done(nullptr, closed_error()); });
      return;
    }
    entry inside(*this);
    auto deadline = env_->now() + at_most_a_year(within);
    auto c = std::make_shared<hosted_call>(*this, number, std::move(done));
    numbered_.emplace(number, c);
    watch(*c, deadline + options.grace);
    begin(c, std::move(make), with_session, deadline);
  }
  void stop_call(std::uint64_t number) {
    auto found = numbered_.find(number);
    if (found == numbered_.end())
      return;
    auto& c = *found->second;
    c.why = error(outcome::unknown, reason::stopped, "the call was stopped, but did not end in time");
    c.stop.stop();
    watch(c, std::min(c.destroyed_at, env_->now() + options.grace));
  }
  /// Ends a call that has finished, or that must be destroyed.
  void over(hosted_call& c, std::exception_ptr thrown) {
    auto found = numbered_.find(c.number);
    if (found == numbered_.end())
      return;
    auto gone = found->second;
    numbered_.erase(found);
    calls.erase(gone);
    over_tasks_.push_back(std::move(gone->running));
    over_tasks_.push_back(std::move(gone->watch));
    loop_.post([gone, thrown = std::move(thrown)] { gone->done(thrown, gone->why); });
  }

  void begin_to_close(milliseconds within, std::function<void(status)> done) {
    if (closed.exchange(true)) {
      loop_.post([done = std::move(done)] { done(closed_error()); });
      return;
    }
    entry inside(*this);
    end_all();
    auto limit = deadline(env_->now() + at_most_a_year(within));
    close_ = close_session(limit, std::move(done));
    close_.start();
    if (!ended_) {
      // Keeps this alive, as loop_.wake() does, until responses have arrived or the limit has
      // passed.
      keep_ = wait_until(limit.at());
      keep_.start();
      env_->tick();
    }
  }

  environment& env() { return *env_; }
  /// Like post(), but keeps the function until it has run.
  void run_on_loop(std::function<void()> what) { loop_.post(std::move(what)); }
  std::atomic<std::uint64_t> next_number{1};

private:
  std::shared_ptr<hosted_parts> self() { return std::static_pointer_cast<hosted_parts>(shared_from_this()); }

  void wake(instant at) {
    if (ended_)
      return;
    // While it closes, only the loop owns it.
    if (closed) {
      loop_.wake(at, [here = self()] { here->tick(); });
      return;
    }
    std::weak_ptr<hosted_parts> weak = self();
    loop_.wake(at, [weak] {
      if (auto here = weak.lock())
        here->tick();
    });
  }
  /// Exists while the loop runs this client. When it ends, stopped operations and coroutines end.
  class entry {
  public:
    explicit entry(hosted_parts& p) : parts_(p) { ++parts_.inside_; }
    ~entry() {
      if (--parts_.inside_ == 0)
        parts_.settle();
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

  private:
    hosted_parts& parts_;
  };

  void tick() {
    entry inside(*this);
    env_->tick();
  }
  void answered(std::uint64_t ticket, answer a) {
    entry inside(*this);
    env_->answered(ticket, std::move(a));
  }
  /// Something was stopped by code that was not called from here.
  void settle_soon() {
    if (inside_ == 0)
      post([] {});
  }
  void settle() {
    ++inside_;
    do {
      std::exchange(over_tasks_, {}).clear();
      env_->settle();
    } while (env_->has_stopped() || !over_tasks_.empty());
    --inside_;
    if (ended_)
      loop_.wake(instant::max(), nullptr);
  }

  void watch(hosted_call& c, instant end) {
    over_tasks_.push_back(std::move(c.watch));
    c.destroyed_at = end;
    c.watch = destroy_at(c.number, end);
    c.watch.start();
  }
  task<void> destroy_at(std::uint64_t number, instant end) {
    co_await sleep_until(*env_, end);
    auto found = numbered_.find(number);
    if (found != numbered_.end()) {
      auto late = found->second;
      over(*late, nullptr);
    }
  }
  task<void> wait_until(instant end) { co_await sleep_until(*env_, end); }
  task<void> close_session(deadline limit, std::function<void(status)> done) {
    status how = nothing();
    auto state = (*held_by)->state();
    if (state == session_state::live || state == session_state::uncertain) {
      status closed_now = co_await (*held_by)->close(limit);
      how = closed_now;
    }
    ended_ = true;
    loop_.post([done = std::move(done), how] { done(how); });
  }

  host_loop loop_;
  std::shared_ptr<transport> over_;
  std::unique_ptr<loop_environment> env_;
  std::map<std::uint64_t, std::shared_ptr<hosted_call>> numbered_;
  std::vector<task<void>> over_tasks_;
  int inside_ = 0;
  bool ended_ = false; ///< the session has ended, and this client with it
  task<void> close_;
  task<void> keep_;
};

namespace {

void hosted_call::end(std::exception_ptr thrown) {
  parts_.over(*this, std::move(thrown));
}

task<result<client_lease>> show(making<lease_ptr> make, client_lease (*shown)(lease_ptr), session& s, deadline limit) {
  task<result<lease_ptr>> making = make(s, limit);
  result<lease_ptr> kept = co_await making;
  if (!kept)
    co_return kept.error();
  co_return shown(std::move(*kept));
}

task<status> nothing_held() {
  co_return error(outcome::refused, reason::session, "nothing is held");
}

} // namespace

} // namespace detail

using detail::face;
using detail::hosted_parts;

hosted_client::hosted_client(host_loop loop, client_options options, std::shared_ptr<transport> over) {
  if (!over)
    over = socket_transport(options);
  parts_ = std::make_shared<hosted_parts>(std::move(loop), std::move(options), std::move(over));
  parts_->settle_in();
}

hosted_client::~hosted_client() {
  if (parts_->pid == ::getpid())
    close_soon();
  else
    new (std::nothrow) std::shared_ptr<hosted_parts>(std::move(parts_));
}

void hosted_client::close_soon() {
  if (parts_->usable())
    parts_->run_on_loop([p = parts_] { p->begin_to_close(p->options.linger, [](const status&) {}); });
}

void hosted_client::abandon() {
  parts_->abandon();
}

environment& hosted_client::env() {
  return parts_->env();
}

std::uint64_t hosted_client::next_number() {
  return parts_->next_number++;
}

void hosted_client::begin(std::uint64_t number, detail::job make, bool with_session, limit within, ended done) {
  parts_->begin_call(number, std::move(make), with_session, within, std::move(done));
}

void hosted_client::stop(std::uint64_t number) {
  parts_->post([weak = std::weak_ptr<hosted_parts>(parts_), number] {
    if (auto here = weak.lock())
      here->stop_call(number);
  });
}

void hosted_client::close(limit within, std::function<void(status)> done) {
  parts_->begin_to_close(within, std::move(done));
}

hosted_client::making<client_lease> hosted_client::kept(making<lease> make) {
  auto shown = [](detail::lease_ptr p) { return client_lease(std::move(p)); };
  return
      [make = parts_->kept(std::move(make)), shown](session& s, deadline p) { return detail::show(make, shown, s, p); };
}

hosted_client::making<client_lease> hosted_client::lock(std::string key, mutex_options how) {
  return kept(face::lock(std::move(key), std::move(how)));
}

hosted_client::making<client_lease> hosted_client::permits(std::string name, std::uint64_t max, std::uint64_t wanted,
                                                           recipe how) {
  return kept(face::permits(std::move(name), max, how, wanted));
}

hosted_client::making<client_lease> hosted_client::campaign(std::string name, std::string value, recipe how) {
  return kept(face::leadership(std::move(name), how, std::move(value)));
}

hosted_client::making<nothing> hosted_client::transfer(const client_lease& held, std::string name, recipe how) {
  if (!held.parts_)
    return [](session&, deadline) { return detail::nothing_held(); };
  return parts_->transfer_job(held.parts_, std::move(name), how);
}

hosted_client::making<nothing> hosted_client::release(const client_lease& h) {
  if (!h.parts_)
    return [](session&, deadline) { return detail::nothing_held(); };
  return parts_->release_job(h.parts_);
}

std::uint64_t hosted_client::watch(const client_lease& h, std::function<void()> notify) {
  auto number = next_number();
  bool over = !h.parts_ || h.parts_->lost.stop_requested() || parts_->leases.count(h.parts_) == 0;
  if (over)
    parts_->post(std::move(notify));
  else
    h.parts_->watchers.emplace(number, std::move(notify));
  return number;
}

void hosted_client::forget_watch(const client_lease& h, std::uint64_t number) {
  if (h.parts_)
    h.parts_->watchers.erase(number);
}

} // namespace v0
} // namespace belay
