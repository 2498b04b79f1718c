#include "client/asio/shared_loop.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace belay {
inline namespace v0 {
namespace detail {

namespace asio = boost::asio;

namespace {

/// A caller that runs the loop for longer has to leave it: other work must not depend on a caller.
/// (Callers set no timers: on a virtual machine each costs more than a system call.)
constexpr std::chrono::milliseconds rest_length{1};

} // namespace

void shared_loop::start() {
  // The new thread compares its ID with thread_'s.
  std::lock_guard running(run_lock_);
  thread_ = std::thread([this] { run(); });
}

void shared_loop::run() {
  auto work = asio::make_work_guard(context_);
  while (!context_.stopped()) {
    {
      std::unique_lock running(run_lock_, std::try_to_lock);
      if (!running) {
        own_comes_ = true;
        asio::post(context_, [] {});
        running.lock();
        own_comes_ = false;
      }
      runner_ = std::this_thread::get_id();
      for (const auto& what : std::exchange(for_own_, {}))
        what();
      leaves_ = false;
      while (!context_.stopped() && !leaves_)
        context_.run_one();
      runner_ = std::thread::id();
    }
    if (!context_.stopped())
      rest();
  }
}

void shared_loop::rest() {
  std::unique_lock guard(rest_lock_);
  for (;;) {
    auto before = runs_of_callers_.load();
    if (waiters_.load() == 0)
      called_.wait_for(guard, rest_length, [this] { return called_own_; });
    if (std::exchange(called_own_, false) || waiters_.load() > 0 || runs_of_callers_.load() == before)
      return;
  }
}

void shared_loop::call_own() {
  {
    std::lock_guard guard(rest_lock_);
    called_own_ = true;
  }
  called_.notify_one();
}

void shared_loop::post_to_own(std::function<void()> what) {
  asio::post(context_, [this, what = std::move(what)]() mutable {
    if (is_own())
      what();
    else
      for_own_.push_back(std::move(what));
  });
}

bool shared_loop::run_here(const std::function<void()>& begin, const std::function<bool()>& done) {
  {
    std::unique_lock running(run_lock_, std::try_to_lock);
    if (!running || own_only_.load() > 0 || context_.stopped())
      return false;
    ++runs_of_callers_;
    runner_ = std::this_thread::get_id();
    // As on the loop's own thread, an exception of a handler ends the process: calls catch theirs.
    [&]() noexcept {
      begin();
      while (!done() && for_own_.empty() && !own_comes_.load() && context_.run_one() > 0)
        continue;
    }();
    runner_ = std::thread::id();
    if (for_own_.empty() && done()) {
      running.unlock();
      if (waiters_.load() > 0)
        call_own();
      return true;
    }
  }
  call_own();
  return true;
}

shared_loop::waiter::waiter(shared_loop& l, whose code) : loop_(l), code_(code) {
  ++loop_.waiters_;
  if (code_ == whose::program)
    ++loop_.own_only_;
}

shared_loop::waiter::~waiter() {
  if (code_ == whose::program)
    --loop_.own_only_;
  --loop_.waiters_;
}

} // namespace detail
} // namespace v0
} // namespace belay
