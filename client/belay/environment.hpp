#pragma once
// The environment of a recipe: time, randomness, timers and requests. The same recipes run on
// sockets, in tests with virtual time and in the simulator, each with its own environment.

#include <belay/result.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {

/// A clock that is never set, and includes suspensions (CLOCK_BOOTTIME). It times sessions.
struct lease_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<lease_clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};
using instant = lease_clock::time_point;
using std::chrono::milliseconds;

/// A request to the HTTP API. The environment adds the token, Host and other headers.
class request {
public:
  request(std::string method, std::string path) : method_(std::move(method)), target_(std::move(path)) {}

  /// `path` followed by `name`, percent-encoded except for slashes.
  static std::string path_of(std::string_view path, std::string_view name);

  request& query(std::string_view name, std::string_view value);
  request& query(std::string_view name);
  request& header(std::string name, std::string value);
  request& body(std::string text);
  /// Marks it as harmless when sent twice: a transport may resend it. GET requests always are.
  request& repeatable();
  /// Marks it as urgent, as a renewal is: requests that wait at servers do not delay it.
  request& urgent();

  const std::string& method() const noexcept { return method_; }
  const std::string& target() const noexcept { return target_; }
  const std::string& body() const noexcept { return body_; }
  const std::vector<std::pair<std::string, std::string>>& headers() const noexcept { return headers_; }
  bool is_repeatable() const noexcept { return repeatable_ || method_ == "GET"; }
  bool is_urgent() const noexcept { return urgent_; }
  /// Whether the server may block it until a change or a grant: it has the parameter `wait`.
  bool waits() const noexcept { return waits_; }

private:
  std::string method_;
  std::string target_;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool repeatable_ = false;
  bool urgent_ = false;
  bool waits_ = false;
};

/// The response to a request, or the reason why there is none.
class answer {
public:
  answer() = default;
  answer(int status, std::string body) : status_(status), body_(std::move(body)) {}
  /// No response. `sent`: whether the request may have reached a server.
  static answer none(bool sent, std::string text, reason why = reason::no_answer);

  int status() const noexcept { return status_; }
  bool received() const noexcept { return status_ != 0; }
  bool sent() const noexcept { return sent_; }
  const std::string& body() const noexcept { return body_; }
  /// `name` in any case. Empty if there is no such header.
  std::string_view header(std::string_view name) const noexcept;
  /// 0 if there is no such header, or its value is not a number.
  std::uint64_t number(std::string_view name) const noexcept;
  void add_header(std::string name, std::string value) { headers_.emplace_back(std::move(name), std::move(value)); }

  /// The error for a caller that needed success. `changes`: whether the request was a write.
  error to_error(bool changes) const;

private:
  int status_ = 0;
  bool sent_ = true;
  reason why_ = reason::no_answer;
  std::string body_; ///< without a response: why there is none
  std::vector<std::pair<std::string, std::string>> headers_;
};

class operation;
class stop_source;

class environment {
public:
  virtual ~environment() = default;

  virtual instant now() = 0;
  /// A random number from 0 to n-1. @pre n > 0
  virtual std::uint64_t random(std::uint64_t n) = 0;

  // Each operation ends once, by operation::finish, from the loop, never inside these calls.
  virtual void sleep(operation& op, instant until) = 0;
  /// @param q copied before this returns
  virtual void ask(operation& op, const request& q, instant until) = 0;
  /// Finishes it soon.
  virtual void stop(operation& op) = 0;
  /// Its owner is being destroyed: do not finish it.
  virtual void forget(operation& op) noexcept = 0;
};

namespace detail {
struct stop_hook {
  operation* op = nullptr;
  stop_source* owner = nullptr;
  stop_hook* before = nullptr;
  stop_hook* after = nullptr;

  void enter(stop_source& s) noexcept;
  void leave() noexcept;
};
} // namespace detail

/// Ends sleeps and requests that wait under it, on the loop, not inside stop().
class stop_source {
public:
  stop_source() = default;
  ~stop_source();
  stop_source(const stop_source&) = delete;
  stop_source& operator=(const stop_source&) = delete;

  /// From now on everything that waits under it ends at once.
  void stop();
  bool stopped() const noexcept { return stopped_; }
  void reset() noexcept { stopped_ = false; }
  /// Ends what waits now, and nothing that starts later.
  void wake_all();

private:
  friend struct detail::stop_hook;
  detail::stop_hook* first_ = nullptr;
  bool stopped_ = false;
};

/// A caller's deadline, and up to two stop sources that end the wait earlier.
class deadline {
public:
  explicit deadline(instant at, stop_source* stop = nullptr, stop_source* other = nullptr) noexcept
      : at_(at), stop_(stop), other_(other) {}
  instant at() const noexcept { return at_; }
  stop_source* stop() const noexcept { return stop_; }
  stop_source* other() const noexcept { return other_; }
  /// The same, but `other` stops it, too.
  deadline with(stop_source& other) const noexcept { return deadline(at_, stop_, &other); }
  bool stopped() const noexcept { return (stop_ && stop_->stopped()) || (other_ && other_->stopped()); }
  bool over(instant now) const noexcept { return stopped() || now >= at_; }
  /// Whether it was stopped or the deadline has passed. @pre over()
  v0::error error() const;

private:
  instant at_;
  stop_source* stop_;
  stop_source* other_;
};

/// Something that a coroutine waits for. It lives in the coroutine's frame.
class operation {
public:
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  /// Called by the environment, once. `stopped`: it was stopped, and `a` is empty.
  void finish(bool stopped, answer a) {
    stopped_ = stopped;
    answer_ = std::move(a);
    waiting_ = false;
    for (auto& h : hooks_)
      h.leave();
    waiter_.resume(); // may destroy this
  }
  /// The environment uses it to find the operation again.
  std::uint64_t ticket = 0;

  bool await_ready() const noexcept { return stopped_; }

protected:
  operation(environment& env, stop_source* one, stop_source* other) noexcept;
  ~operation();
  void suspended(std::coroutine_handle<> waiter) noexcept {
    waiter_ = waiter;
    waiting_ = true;
  }

  environment& env_;
  answer answer_;
  bool stopped_ = false;

private:
  friend class stop_source;
  std::coroutine_handle<> waiter_;
  bool waiting_ = false;
  std::array<detail::stop_hook, 2> hooks_;
};

class [[nodiscard]] sleeping : public operation {
public:
  sleeping(environment& env, instant until, stop_source* one, stop_source* other) noexcept
      : operation(env, one, other), until_(until) {}
  void await_suspend(std::coroutine_handle<> waiter) {
    suspended(waiter);
    env_.sleep(*this, until_);
  }
  /// true: the time was reached; false: it was stopped before.
  bool await_resume() const noexcept { return !stopped_; }

private:
  instant until_;
};

class [[nodiscard]] asking : public operation {
public:
  asking(environment& env, const request& q, instant until, stop_source* one, stop_source* other) noexcept
      : operation(env, one, other), question_(q), until_(until) {}
  bool await_ready() const noexcept { return stopped_; }
  void await_suspend(std::coroutine_handle<> waiter) {
    suspended(waiter);
    sent_ = true;
    env_.ask(*this, question_, until_);
  }
  answer await_resume();

private:
  const request& question_;
  instant until_;
  bool sent_ = false;
};

/// Usage: `auto reached = co_await sleep_until(env, t);`
inline sleeping sleep_until(environment& env, instant until, stop_source* one = nullptr,
                            stop_source* other = nullptr) noexcept {
  return sleeping(env, until, one, other);
}
/// Ends at the caller's deadline at the latest.
inline sleeping sleep_until(environment& env, instant until, const deadline& limit) noexcept {
  return sleeping(env, std::min(until, limit.at()), limit.stop(), limit.other());
}
/// Usage, with a request that has a name: `auto a = co_await ask(env, q, until);`
inline asking ask(environment& env, const request& q, instant until, stop_source* one = nullptr,
                  stop_source* other = nullptr) noexcept {
  return asking(env, q, until, one, other);
}
/// Ends at the caller's deadline at the latest.
inline asking ask(environment& env, const request& q, instant until, const deadline& limit) noexcept {
  return asking(env, q, std::min(until, limit.at()), limit.stop(), limit.other());
}
asking ask(environment&, request&&, instant, stop_source* = nullptr, stop_source* = nullptr) = delete;
asking ask(environment&, request&&, instant, const deadline&) = delete;

} // namespace v0
} // namespace belay
