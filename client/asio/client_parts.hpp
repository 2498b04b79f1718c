#pragma once
// What is behind the blocking face: the client's thread with its loop.

#include "client/asio/face.hpp"
#include "client/asio/socket_world.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <condition_variable>
#include <exception>
#include <thread>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

namespace asio = boost::asio;

class cache_parts {
public:
  cache_parts(std::weak_ptr<face> c, world& w, std::string prefix, near_cache_options o)
      : owner(std::move(c)), options(o), it(w, std::move(prefix), o) {}

  struct state {
    std::shared_ptr<const key_table> table;
    instant confirmed;
  };
  std::weak_ptr<face> owner;
  near_cache_options options;
  near_cache it; ///< of the client's thread
  std::atomic<std::shared_ptr<const state>> now;
};

using cache_ptr = std::shared_ptr<cache_parts>;

class client_parts;

/// A call that waits.
class waiting_call final : public call, public std::enable_shared_from_this<waiting_call> {
public:
  explicit waiting_call(client_parts& p) : parts(p) {}

  client_parts& parts;
  std::mutex lock;
  std::condition_variable changed;
  bool ended = false;
  std::exception_ptr thrown;

  void end(std::exception_ptr what = nullptr) override;
};

class client_parts final : public face {
public:
  explicit client_parts(client_options o);

  bool own_thread() const { return std::this_thread::get_id() == thread.get_id(); }
  void post(std::function<void()> what) override;
  error run(job make, bool with_session, milliseconds within, std::stop_token stop) override;
  result<held> take(making<hold> make, milliseconds within, std::stop_token stop);

  /// On the client's thread.
  void take_away(const std::shared_ptr<waiting_call>& c);

  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::unique_ptr<socket_world> sockets;
  std::vector<cache_ptr> caches;
  std::thread thread;
};

} // namespace detail
} // namespace v0
} // namespace belay
