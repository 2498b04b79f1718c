#pragma once
// The event loop of the load generator: coroutines on one thread and one epoll set. A request
// allocates only its coroutine's frame.

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using u64 = uint64_t;
using u32 = uint32_t;
using i64 = int64_t;

inline u64 now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return u64(t.tv_sec) * 1000000000ull + u64(t.tv_nsec);
}

[[noreturn]] inline void die(const std::string& m) {
  fprintf(stderr, "load_generator: %s\n", m.c_str());
  exit(2);
}

// Every operation ends in exactly one of these; they are counted separately.
enum class outcome : int { ok, conn, timeout, status, body, proto, n };
inline const char* outcome_name(outcome s) {
  static const char* n[] = {"ok", "conn", "timeout", "status", "body", "proto"};
  return n[int(s)];
}

template <class T>
class [[nodiscard]] task {
public:
  struct promise_type {
    T value{};
    std::coroutine_handle<> cont;
    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct at_end {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        auto c = h.promise().cont;
        return c ? c : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    at_end final_suspend() noexcept { return {}; }
    void return_value(T v) { value = std::move(v); }
    void unhandled_exception() { std::terminate(); }
  };
  explicit task(std::coroutine_handle<promise_type> h) : h_(h) {}
  task(task&& o) noexcept : h_(std::exchange(o.h_, {})) {}
  task(const task&) = delete;
  ~task() {
    if (h_)
      h_.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> c) {
    h_.promise().cont = c;
    return h_;
  }
  T await_resume() { return std::move(h_.promise().value); }

private:
  std::coroutine_handle<promise_type> h_;
};

struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct pollable {
  int fd = -1;
  u64 deadline = 0; // 0: none
  virtual void on_event(u32 ev) = 0;
  virtual void on_timeout() = 0;
  virtual ~pollable() = default;
};

struct flushable {
  bool dirty = false;
  virtual void flush() = 0;
  virtual ~flushable() = default;
};

class event_loop {
public:
  event_loop() {
    ep_ = epoll_create1(EPOLL_CLOEXEC);
    if (ep_ < 0)
      die("epoll_create1");
    next_scan_ = now_ns() + scan_period_ns;
  }
  void add(pollable* p) {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    e.data.ptr = p;
    if (epoll_ctl(ep_, EPOLL_CTL_ADD, p->fd, &e) < 0)
      die("epoll_ctl");
  }
  void watch_deadlines(pollable* p) { all_.push_back(p); }
  void at(u64 when, std::function<void()> f) { timers_.push({when, seq_++, std::move(f)}); }
  void mark_dirty(flushable* f) {
    if (!f->dirty) {
      f->dirty = true;
      dirty_.push_back(f);
    }
  }
  auto sleep(u64 ns) {
    struct awaiter {
      event_loop& l;
      u64 ns;
      bool await_ready() { return false; }
      void await_suspend(std::coroutine_handle<> h) {
        l.at(now_ns() + ns, [h] { h.resume(); });
      }
      void await_resume() {}
    };
    return awaiter{*this, ns};
  }
  // Runs until every spawned task has ended.
  void run() {
    while (live_ > 0)
      step();
  }
  void spawn(task<outcome> t) {
    ++live_;
    run_detached(std::move(t));
  }

private:
  static constexpr u64 scan_period_ns = 20'000'000;
  struct timer {
    u64 when, seq;
    std::function<void()> f;
    bool operator<(const timer& o) const { return when != o.when ? when > o.when : seq > o.seq; }
  };
  detached run_detached(task<outcome> t) {
    co_await t;
    --live_;
  }
  void flush_dirty() {
    while (!dirty_.empty()) {
      tmp_.swap(dirty_);
      for (auto* f : tmp_) {
        f->dirty = false;
        f->flush();
      }
      tmp_.clear();
    }
  }
  void step() {
    flush_dirty();
    u64 n = now_ns(), next = next_scan_;
    if (!timers_.empty())
      next = std::min(next, timers_.top().when);
    int tmo = next <= n ? 0 : int((next - n + 999'999) / 1'000'000);
    epoll_event ev[256];
    int k = epoll_wait(ep_, ev, 256, tmo);
    for (int i = 0; i < k; i++)
      static_cast<pollable*>(ev[i].data.ptr)->on_event(ev[i].events);
    n = now_ns();
    while (!timers_.empty() && timers_.top().when <= n) {
      auto f = std::move(const_cast<timer&>(timers_.top()).f);
      timers_.pop();
      f();
    }
    if (n >= next_scan_) {
      next_scan_ = n + scan_period_ns;
      for (size_t i = 0; i < all_.size(); i++)
        if (all_[i]->deadline && all_[i]->deadline <= n) {
          all_[i]->deadline = 0;
          all_[i]->on_timeout();
        }
    }
  }
  int ep_;
  int live_ = 0;
  u64 seq_ = 0, next_scan_;
  std::vector<pollable*> all_;
  std::vector<flushable*> dirty_, tmp_;
  std::priority_queue<timer> timers_;
};

inline event_loop& loop() {
  static event_loop l;
  return l;
}
