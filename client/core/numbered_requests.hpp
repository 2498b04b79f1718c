#pragma once
// Requests for callers that are not coroutines: each has a number and a callback. Use them on the
// loop only.

#include <belay/environment.hpp>
#include <belay/loops/transport.hpp>
#include <belay/task.hpp>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

class numbered_requests {
public:
  explicit numbered_requests(environment& env) : env_(env) {}

  void ask(std::uint64_t number, request q, instant deadline, transport::completion done) {
    sweep();
    auto& carrying = pending_[number];
    carrying = carry(*this, number, std::move(q), deadline, std::move(done));
    carrying.start();
  }
  void forget(std::uint64_t number) {
    sweep();
    pending_.erase(number);
  }

private:
  static task<void> carry(numbered_requests& all, std::uint64_t number, request q, instant deadline,
                          transport::completion done) {
    answer a = co_await belay::ask(all.env_, q, deadline);
    done(std::move(a));
    all.ended_.push_back(number);
  }
  /// Destroys the finished coroutines: a coroutine cannot destroy itself.
  void sweep() {
    for (auto number : std::exchange(ended_, {}))
      pending_.erase(number);
  }

  environment& env_;
  std::map<std::uint64_t, task<void>> pending_;
  std::vector<std::uint64_t> ended_;
};

} // namespace detail
} // namespace v0
} // namespace belay
