#pragma once
// A loop that one thread at a time runs: its own, or briefly a caller that waits for an event on
// it. Such a caller needs no wake-up by another thread, and wakes none: a switch costs some 10 us.
//
// After a call has ended, the loop's own thread leaves it to callers for a millisecond, for as long
// as calls follow. It takes it back from a caller that runs it for more than a millisecond or two.
// Code of the program (callbacks, its coroutines) runs on the loop's own thread only.

#include "client/asio/face.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

class shared_loop {
public:
  /// @pre join() is called before it is destroyed
  shared_loop() = default;
  shared_loop(const shared_loop&) = delete;
  shared_loop& operator=(const shared_loop&) = delete;

  boost::asio::io_context& context() { return context_; }
  void start();
  void join() { thread_.join(); }
  /// Whether the calling thread runs the loop.
  bool runs_here() const { return runner_.load() == std::this_thread::get_id(); }

  /// Runs it as soon as the loop's own thread runs the loop. May be called from any thread.
  void post_to_own(std::function<void()> what);
  /// Calls `begin`, and then runs the loop on this thread until `done`, or for as long as a caller
  /// may. @returns false: another thread runs the loop, or must; nothing was begun
  bool run_here(const std::function<void()>& begin, const std::function<bool()>& done);
  /// Call it on the loop when a call has ended. After the current handler, callers may run the
  /// loop.
  void call_ended() { leaves_ = true; }

  /// Exists while a thread waits for an event on the loop, and keeps the loop's own thread on it.
  class waiter {
  public:
    /// @param code the program's: while it waits, only the loop's own thread runs the loop
    waiter(shared_loop& l, whose code);
    ~waiter();
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

  private:
    shared_loop& loop_;
    whose code_;
  };

private:
  void run();
  void rest();
  void call_own();
  bool is_own() const { return std::this_thread::get_id() == thread_.get_id(); }

  boost::asio::io_context context_{1};
  std::thread thread_;
  std::mutex run_lock_; ///< held by the thread that runs the loop
  std::atomic<std::thread::id> runner_;
  std::atomic<int> waiters_{0};
  std::atomic<int> own_only_{0};
  std::atomic<std::uint64_t> runs_of_callers_{0};
  std::atomic<bool> own_comes_{false}; ///< a caller that runs the loop leaves it

  // Protected by run_lock_.
  bool leaves_ = false;
  std::vector<std::function<void()>> for_own_;

  std::mutex rest_lock_;
  std::condition_variable called_;
  bool called_own_ = false; ///< protected by rest_lock_
};

} // namespace detail
} // namespace v0
} // namespace belay
