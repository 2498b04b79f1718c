#pragma once
// The library on a loop of the program: all recipes run there, and nothing blocks. belay/asio.hpp
// is this for Boost.Asio; other loops (of a toolkit, of another language) use it directly.
//
// A hosted client has one session, opened for the first call that needs it, and calls, each with a
// number and a function to call at its end. A transport sends the requests, on its own thread. If
// the loop stalls for longer than the TTL, so do renewals, and the session is lost. After a fork
// the child's copy is closed, like that of belay::client.

#include <belay/client.hpp>
#include <belay/loops/transport.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace belay {
inline namespace v0 {

namespace detail {
class hosted_parts;
}

/// What a loop does for a client. Both are copied, and live until all the client's work has ended.
struct host_loop {
  /// May be called from any thread. Runs the function on the loop, later, one at a time.
  std::function<void(std::function<void()>)> post;
  /// Called on the loop. Must call `tick` on the loop at that time, or earlier, instead of the
  /// `tick` given before. `tick` owns what it needs; if it is empty, call nothing.
  std::function<void(instant at, std::function<void()> tick)> wake;
};

class hosted_client {
public:
  using limit = std::chrono::milliseconds;
  /// What a call does. It runs on the loop, with the session open if the call requires it.
  template <class T>
  using making = std::function<task<result<T>>(session&, deadline)>;
  /// Called on the loop.
  /// @param why the error of a call that has no result
  using ended = std::function<void(std::exception_ptr thrown, const error& why)>;

  /// Sends nothing.
  /// @param over null: socket_transport(options)
  hosted_client(host_loop loop, client_options options, std::shared_ptr<transport> over = nullptr);
  /// May run on any thread. Calls close_soon().
  ~hosted_client();
  hosted_client(const hosted_client&) = delete;
  hosted_client& operator=(const hosted_client&) = delete;

  /// The environment for recipes that you use directly. Call it on the loop.
  environment& env();
  /// The number for a new call. May be called from any thread.
  std::uint64_t next_number();
  /// Call it on the loop. `done` is called once, not inside of this. A call that has not ended
  /// client_options::grace after its limit, or after stop(), is destroyed.
  template <class T>
  void begin(std::uint64_t number, making<T> make, bool with_session, limit within,
             std::function<void(std::exception_ptr, result<T>)> done) {
    auto out = std::make_shared<std::optional<result<T>>>();
    begin(
        number, [make = std::move(make), out](session& s, deadline p) { return detail::fill<T>(make, out, s, p); },
        with_session, within,
        [out, done = std::move(done)](std::exception_ptr thrown, const error& why) {
          if (*out)
            done(thrown, std::move(**out));
          else
            done(thrown, why);
        });
  }
  /// May be called from any thread. Ends the call soon; if it has ended already, nothing happens.
  void stop(std::uint64_t number);
  /// Call it on the loop. Releases everything and ends the session; other calls end with
  /// reason::closed.
  void close(limit within, std::function<void(status)> done);

  /// The same without waiting, for client_options::linger at most, while the loop runs. May be
  /// called from any thread.
  void close_soon();
  /// Destroys calls without notifying them, because the loop is about to end. The session ends by
  /// its TTL. No other function may be called meanwhile, and nothing is posted.
  void abandon();

  // Calls to pass to begin().
  making<client_lease> lock(std::string key, mutex_options how = mutex_options());
  making<client_lease> permits(std::string name, std::uint64_t max, std::uint64_t wanted,
                               recipe how = recipe::automatic);
  making<client_lease> campaign(std::string name, std::string value, recipe how = recipe::automatic);
  making<nothing> transfer(const client_lease& held, std::string name, recipe how = recipe::automatic);
  making<nothing> release(const client_lease& h);

  /// Call it on the loop. Calls `notify` there once, when the lease is lost or released; soon if it
  /// already is. @returns the number for forget_watch()
  std::uint64_t watch(const client_lease& h, std::function<void()> notify);
  void forget_watch(const client_lease& h, std::uint64_t number);

private:
  void begin(std::uint64_t number, std::function<task<void>(session&, deadline)> make, bool with_session, limit within,
             ended done);
  making<client_lease> kept(making<lease> make);

  std::shared_ptr<detail::hosted_parts> parts_;
};

} // namespace v0
} // namespace belay
