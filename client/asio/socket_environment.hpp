#pragma once
// The environment of recipes on sockets: persistent connections to the server that responds, and
// timers by the clock of sessions. Everything runs on the one thread that runs the loop.
//
// A request goes to the server that responded last. If a server cannot be reached, nothing was
// sent, and the next one is tried. The addresses of a name share the time to connect; the next
// connection begins with the one that worked. A request without a response is *not* sent to another
// server. The exception is a repeatable one whose connection was reused and ended without a byte of
// a response.

#include "client/asio/transport_options.hpp"

#include <belay/environment.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belay {
inline namespace v0 {
namespace detail {

/// Bodies that are too large for memory, transferred in pieces.
struct streamed_bodies {
  /// The request body: its length, and a function that writes the next bytes. Null:
  /// request::body(). `source` returns the number of bytes written; if it returns 0 early, the
  /// request fails with `complaint`.
  std::uint64_t length = 0;
  std::function<std::size_t(char* into, std::size_t size)> source;
  std::string complaint;
  /// Receives the body of a 200. @returns false: no more is needed, and the request fails. Null: it
  /// goes to answer::body().
  std::function<bool(std::string_view piece)> sink;
};

class socket_environment : public environment {
public:
  socket_environment(boost::asio::io_context& loop, transport_options options);
  /// Drops everything that waits.
  ~socket_environment() override;

  instant now() override;
  std::uint64_t random(std::uint64_t n) override;
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void ask(operation& op, const request& q, instant deadline, streamed_bodies bodies);
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

  /// What is wrong with the options; reason::none if nothing is. All requests are refused with it.
  const error& wrong() const;

private:
  class parts;
  std::shared_ptr<parts> parts_;
};

/// Usage: like belay::ask().
class [[nodiscard]] streamed_asking : public operation {
public:
  streamed_asking(socket_environment& env, const request& q, instant deadline, streamed_bodies bodies,
                  stop_source* stop) noexcept
      : operation(env, stop, nullptr), sockets_(env), question_(q), deadline_(deadline), bodies_(std::move(bodies)) {}
  void await_suspend(std::coroutine_handle<> waiter) {
    suspended(waiter);
    sent_ = true;
    sockets_.ask(*this, question_, deadline_, std::move(bodies_));
  }
  answer await_resume() {
    return stopped_ ? answer::none(sent_, "stopped by the caller", reason::stopped) : std::move(answer_);
  }

private:
  socket_environment& sockets_;
  const request& question_;
  instant deadline_;
  streamed_bodies bodies_;
  bool sent_ = false;
};

inline streamed_asking ask(socket_environment& env, const request& q, instant deadline, streamed_bodies bodies,
                           stop_source* stop = nullptr) noexcept {
  return streamed_asking(env, q, deadline, std::move(bodies), stop);
}

} // namespace detail
} // namespace v0
} // namespace belay
