#pragma once
// What `belay lock` and similar commands hold while their command runs, and the session that holds
// it. Locks and semaphores of keys use the keys, flags and bodies of Consul's clients, so that both
// programs wait for each other.

#include "cli/api/api_exchange.hpp"
#include "cli/locks/acquire_deadline.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace belay::cli {

struct holding_settings {
  std::string prefix;             ///< prefix of the keys, without a slash at either end
  std::size_t limit = 1;          ///< most holders at once
  acquire_deadline deadline = {}; ///< for acquiring
  std::size_t retries = 3;        ///< consecutive errors that are tolerated while it is held
  std::chrono::milliseconds ttl{15'000};
};

class holding {
public:
  virtual ~holding() = default;

  /// Creates the session and renews it from then on.
  /// @param name description for humans
  virtual boost::asio::awaitable<status> begin(std::string name) = 0;
  /// Ends the session, so that no client has to wait for its TTL. Call release() first; otherwise
  /// no client can acquire during the lock delay.
  virtual boost::asio::awaitable<void> end() = 0;
  virtual std::string session() const = 0;
  /// No server ends the session before this time.
  virtual lock_clock::time_point valid_until() const = 0;
  /// Whether the session may have ended.
  virtual bool over() const = 0;

  /// Waits until it is acquired.
  /// @returns false if the deadline has passed, or stop() was called
  virtual boost::asio::awaitable<result<bool>> acquire() = 0;
  /// Returns when it is lost, when it is unknown whether it is held, or when stop() is called.
  virtual boost::asio::awaitable<void> watch() = 0;
  /// Releases it. It is not an error if it was lost.
  virtual boost::asio::awaitable<status> release() = 0;
  /// Removes its keys unless another client needs them.
  /// @returns false if one does
  virtual boost::asio::awaitable<result<bool>> clean_up() = 0;
  /// Ends acquire() and watch().
  virtual void stop() = 0;

  /// The fencing token of the grant (`X-Belay-Fence`); empty if there is none
  /// (docs/reference/http-extensions.md).
  virtual std::string fence() const { return {}; }
  virtual std::string key() const = 0;
};

/// A lock of keys or, with limit > 1, a semaphore of keys.
std::unique_ptr<holding> make_holding(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                                      holding_settings settings);

} // namespace belay::cli
