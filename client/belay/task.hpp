#pragma once
// A coroutine with one owner. It starts when it is awaited or started, and may be destroyed at any
// await: whatever it waits for is abandoned. Not thread-safe.
//
// How to write coroutines that g++ 12 compiles correctly: docs/guides/client.md, "Writing coroutines".

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace belay {
inline namespace v0 {

template <class T = void>
class task;

namespace detail {

struct task_promise_base {
  /// The coroutine that awaits this task; null if it was started. Debuggers show callers only.
  std::coroutine_handle<> parent;
  std::exception_ptr thrown;

  struct finish {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> me) const noexcept {
      if (me.promise().parent)
        return me.promise().parent;
      return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  finish final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
};

template <class T>
struct task_promise : task_promise_base {
  std::optional<T> value;

  task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
    return std::move(*value);
  }
};

template <>
struct task_promise<void> : task_promise_base {
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() {
    if (thrown)
      std::rethrow_exception(std::exchange(thrown, nullptr));
  }
};

} // namespace detail

template <class T>
class [[nodiscard]] task {
public:
  using promise_type = detail::task_promise<T>;
  using handle = std::coroutine_handle<promise_type>;

  task() noexcept = default;
  explicit task(handle h) noexcept : handle_(h) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~task() { reset(); }

  bool valid() const noexcept { return handle_ != nullptr; }
  /// @pre valid()
  bool done() const noexcept { return handle_.done(); }
  /// Runs it up to its first suspension. @pre valid(), and neither started nor awaited before
  void start() { handle_.resume(); }
  /// Returns or throws what the coroutine did. @pre done()
  T take() { return handle_.promise().take(); }
  /// Destroys the coroutine. @pre it is not running
  void reset() noexcept {
    if (auto h = std::exchange(handle_, nullptr))
      h.destroy();
  }

  class awaiter {
  public:
    explicit awaiter(handle h) noexcept : handle_(h) {}
    bool await_ready() const noexcept { return handle_.done(); }
    // Returns no handle: at -O0 and under sanitizers resuming is a call, and a loop over ready
    // tasks would overflow the stack. Completions are posted: none comes between these two lines.
    bool await_suspend(std::coroutine_handle<> parent) {
      handle_.resume();
      if (handle_.done())
        return false;
      handle_.promise().parent = parent;
      return true;
    }
    T await_resume() { return handle_.promise().take(); }

  private:
    handle handle_;
  };
  awaiter operator co_await() const noexcept { return awaiter(handle_); }

private:
  handle handle_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise<T>>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise<void>>::from_promise(*this));
}

} // namespace detail

} // namespace v0
} // namespace belay
