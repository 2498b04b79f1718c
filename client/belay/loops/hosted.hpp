#pragma once
// The library on a loop of the program's own: all recipes run there, nothing waits. belay/asio.hpp is this for Boost.Asio; other loops
// (of a toolkit, of another language) use it as it is.
//
// A hosted client has one session, which it opens when something is first to be held, and calls, each with a number and a function that
// is told of its end. Requests are carried by a transport, whose thread does nothing but that. If the loop stands still for longer than
// the TTL, so do renewals, and the session is lost.
// After a fork the child's copy is closed, as that of belay::client.

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

/// What a loop does for a client. Both are copied, and live as long as the client has something to end.
struct host_loop {
  /// From any thread. Runs it on the loop, later, and one of them at a time.
  std::function<void(std::function<void()>)> post;
  /// On the loop. `tick` is to be called on the loop at that time, or earlier, instead of what was to be called before. It owns what
  /// it needs. An empty one: there is nothing to be called.
  std::function<void(instant at, std::function<void()> tick)> wake;
};

class hosted_client {
public:
  using limit = std::chrono::milliseconds;
  /// What a call does; it runs on the loop, with the session open if the call says so.
  template <class T>
  using making = std::function<task<result<T>>(session&, patience)>;
  /// On the loop. @param why what it is if the call has no result
  using ended = std::function<void(std::exception_ptr thrown, const error& why)>;

  /// Asks nothing. @param over null: socket_transport(options)
  hosted_client(host_loop loop, client_options options, std::shared_ptr<transport> over = nullptr);
  /// On any thread: close_soon().
  ~hosted_client();
  hosted_client(const hosted_client&) = delete;
  hosted_client& operator=(const hosted_client&) = delete;

  /// For recipes without a call. On the loop.
  world& where();
  /// Of a call that is to begin. From any thread.
  std::uint64_t next_number();
  /// On the loop. `done` is called once, not inside of this. What has not ended client_options::grace after its limit, or after stop(),
  /// is destroyed.
  template <class T>
  void begin(std::uint64_t number, making<T> make, bool with_session, limit within,
             std::function<void(std::exception_ptr, result<T>)> done) {
    auto out = std::make_shared<std::optional<result<T>>>();
    begin(
        number, [make = std::move(make), out](session& s, patience p) { return detail::fill<T>(make, out, s, p); },
        with_session, within,
        [out, done = std::move(done)](std::exception_ptr thrown, const error& why) {
          if (*out)
            done(thrown, std::move(**out));
          else
            done(thrown, why);
        });
  }
  /// From any thread. Lets it end soon; one that has ended already is no error.
  void stop(std::uint64_t number);
  /// On the loop. Gives back what is held and ends the session; all other calls end with reason::closed, and so do later ones.
  void close(limit within, std::function<void(status)> done);

  /// The same without waiting, for client_options::linger at most, and for as long as the loop goes on. From any thread.
  void close_soon();
  /// The loop is about to go: calls are destroyed and told nothing, the session ends by its TTL. Nothing else may be called meanwhile,
  /// and nothing is posted any more.
  void abandon();

  // What calls do.
  making<held> lock(std::string key, mutex_options how = mutex_options());
  making<held> permits(std::string name, std::uint64_t most, std::uint64_t wanted, recipe how = recipe::automatic);
  making<held> campaign(std::string name, std::string value, recipe how = recipe::automatic);
  making<nothing> hand_over(const held& office, std::string name, recipe how = recipe::automatic);
  making<nothing> release(const held& h);

  /// On the loop. `told` is called there when it is lost or given back, once; at once if it is so already.
  /// @returns what forget_watch() takes
  std::uint64_t watch(const held& h, std::function<void()> told);
  void forget_watch(const held& h, std::uint64_t number);

private:
  void begin(std::uint64_t number, std::function<task<void>(session&, patience)> make, bool with_session, limit within,
             ended done);
  making<held> kept(making<hold> make);

  std::shared_ptr<detail::hosted_parts> parts_;
};

} // namespace v0
} // namespace belay
