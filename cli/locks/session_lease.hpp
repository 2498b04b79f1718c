#pragma once
// A session that is renewed, and until when its holder may rely on it.

#include "cli/http/api_connection.hpp"
#include "cli/locks/acquire_deadline.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <string>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 inlines Asio's operator delete of coroutines and not its operator new, and takes them for strangers.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace belay::cli {

/// Who waits is woken by ring(), or when the time is over.
class bell {
public:
  explicit bell(boost::asio::any_io_executor executor) : timer_(std::move(executor)) {}
  boost::asio::awaitable<void> wait(std::chrono::milliseconds limit);
  void ring() { timer_.cancel(); }

private:
  boost::asio::steady_timer timer_;
};

/// Those of Consul's clients, but in tests.
struct lease_times {
  std::chrono::seconds ttl{15}; ///< a server ends the session between once and twice this after the last renewal
  std::chrono::milliseconds renewed_every{5'000};
};

class session_lease {
public:
  /// @param scope -datacenter
  session_lease(boost::asio::any_io_executor executor, const api_target& target, api_query scope,
                lease_times times = {});

  /// Makes the session. @param name for people who look
  boost::asio::awaitable<status> begin(std::string name, const acquire_deadline& deadline = {});
  /// Renews it until it has ended, or stop() was called.
  boost::asio::awaitable<void> keep();
  void stop();
  /// Ends it, so that nobody has to wait for its TTL. Release its locks before: else nobody gets them for the lock delay.
  boost::asio::awaitable<void> end(const acquire_deadline& deadline = {});

  const std::string& id() const { return id_; }
  /// One TTL after the last successful renewal was sent: until then no server ends the session.
  lock_clock::time_point valid_until() const { return valid_until_; }
  /// Nobody has renewed it for so long that a server has ended it, or one said so.
  bool gone() const { return ended_ || lock_clock::now() >= valid_until_ + times_.ttl; }
  /// It may have ended.
  bool over() const { return ended_ || lock_clock::now() >= valid_until_; }

private:
  boost::asio::any_io_executor executor_;
  api_target target_;
  api_query scope_;
  lease_times times_;
  api_connection connection_;
  bell stopped_bell_;
  std::string id_;
  lock_clock::time_point valid_until_{};
  bool ended_ = false, stopped_ = false;
};

} // namespace belay::cli
