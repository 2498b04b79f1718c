#pragma once
// What `belay lock` and its like hold while their command runs, and the session that it is held by.
// Of locks and semaphores of
// keys, keys, flags and bodies are those of Consul's clients, so that both programs wait for each
// other.

#include "cli/api/api_exchange.hpp"
#include "cli/locks/acquire_deadline.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace belay::cli {

struct holding_settings {
  std::string prefix;             ///< of the keys, without slashes at its ends
  std::size_t limit = 1;          ///< holders at once
  acquire_deadline deadline = {}; ///< to wait for it
  std::size_t retries = 3;        ///< errors in a row that are taken while it is held
  std::chrono::milliseconds ttl{15'000};
};

class holding {
public:
  virtual ~holding() = default;

  /// Makes the session, which is renewed from then on. @param name for people who look
  virtual boost::asio::awaitable<status> begin(std::string name) = 0;
  /// Ends it, so that nobody has to wait for its TTL. Release before: else nobody gets what is held
  /// for the lock delay.
  virtual boost::asio::awaitable<void> end() = 0;
  virtual std::string session() const = 0;
  /// Until then no server ends the session.
  virtual lock_clock::time_point valid_until() const = 0;
  /// It may have ended.
  virtual bool over() const = 0;

  /// Waits for it. @returns false: the time is over, or stop() was called
  virtual boost::asio::awaitable<result<bool>> acquire() = 0;
  /// Returns when it is lost, or cannot be known to be held, or stop() was called.
  virtual boost::asio::awaitable<void> watch() = 0;
  /// Gives it up; it is no error if it was lost.
  virtual boost::asio::awaitable<status> release() = 0;
  /// Removes its keys unless somebody else needs them. @returns false: somebody does
  virtual boost::asio::awaitable<result<bool>> clean_up() = 0;
  /// Ends acquire() and watch().
  virtual void stop() = 0;

  /// `X-Belay-Fence` of the grant; empty where there is none (docs/reference/http-extensions.md).
  virtual std::string fence() const { return {}; }
  virtual std::string key() const = 0;
};

/// A lock, or with limit > 1 a semaphore, of keys.
std::unique_ptr<holding> make_holding(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                                      holding_settings settings);

} // namespace belay::cli
