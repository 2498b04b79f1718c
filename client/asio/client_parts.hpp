#pragma once
// The implementation of the blocking client: its loop, and calls that wait for what runs on it.

#include "client/asio/face.hpp"
#include "client/asio/shared_loop.hpp"
#include "client/asio/socket_environment.hpp"

#include <condition_variable>
#include <exception>
#include <optional>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

class cache_parts {
public:
  cache_parts(std::weak_ptr<face> c, environment& env, std::string prefix, near_cache_options o)
      : owner(std::move(c)), options(o), it(env, std::move(prefix), o) {}

  struct state {
    std::shared_ptr<const key_table> table;
    instant confirmed;
  };
  std::weak_ptr<face> owner;
  near_cache_options options;
  near_cache it; ///< used on the loop only
  std::atomic<std::shared_ptr<const state>> now;
};

using cache_ptr = std::shared_ptr<cache_parts>;

class client_parts;

/// A call that blocks its thread.
class waiting_call final : public call, public std::enable_shared_from_this<waiting_call> {
public:
  explicit waiting_call(client_parts& p) : parts(p) {}

  client_parts& parts;
  std::mutex lock;
  std::condition_variable changed;
  std::atomic<bool> ended{false};
  std::exception_ptr thrown;
  std::optional<shared_loop::waiter> waits; ///< protected by `lock`; empty after the call has ended

  void end(std::exception_ptr what = nullptr) override;
};

class client_parts final : public face {
public:
  explicit client_parts(client_options o);

  void post(std::function<void()> what) override;
  void call_back(std::function<void()> what) override { loop.post_to_own(std::move(what)); }
  error run(whose code, job make, bool with_session, milliseconds within, std::stop_token stop) override;
  result<client_lease> take(making<lease> make, milliseconds within, std::stop_token stop);

  /// Call it on the loop.
  void take_away(const std::shared_ptr<waiting_call>& c);

  shared_loop loop;
  std::unique_ptr<socket_environment> sockets;
  std::vector<cache_ptr> caches;
};

} // namespace detail
} // namespace v0
} // namespace belay
