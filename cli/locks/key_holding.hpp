#pragma once
// Holds keys as Consul's clients do: a lock, or a slot in a semaphore.

#include "cli/locks/session_holding.hpp"

#include <belay/keys.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::cli {

class key_holding : public session_holding {
public:
  key_holding(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
              holding_settings settings)
      : session_holding(loop, target, scope, settings.deadline), target_(target), settings_(std::move(settings)) {
    options_.ttl = settings_.ttl;
  }

  boost::asio::awaitable<result<bool>> acquire() final;
  boost::asio::awaitable<void> watch() final;
  boost::asio::awaitable<status> release() final;
  boost::asio::awaitable<result<bool>> clean_up() final;

protected:
  // What acquire(), release() and clean_up() do.
  virtual v0::task<result<bool>> take() = 0;
  virtual v0::task<status> give_up() = 0;
  virtual v0::task<result<bool>> remove_keys() = 0;

  struct reading {
    std::vector<v0::entry> rows;
    std::uint64_t index = 0;
    std::string fence;
    bool retryable = false; ///< after a failure: a retry may succeed
    std::string complaint;  ///< empty: it was read
  };
  /// Reads a key, or a prefix if `key` ends with a slash.
  /// @param index the last index seen: waits for a change; 0: returns at once
  /// @param wait the longest wait
  v0::task<reading> read(std::string key, bool consistent, std::uint64_t index, std::chrono::milliseconds wait);
  /// Returns when the keys no longer show that it is held.
  /// @param key as for read()
  v0::task<v0::status> follow(std::string key);
  virtual bool shows_holding(const reading& seen) const = 0;

  struct written {
    bool done = false;     ///< the response was `true`
    std::string complaint; ///< empty: the request succeeded
    v0::answer whole;
  };
  /// Sends a PUT or DELETE whose response is true or false.
  /// @param limit for the whole response
  v0::task<written> write(v0::request q, std::chrono::milliseconds limit = std::chrono::seconds(15));
  static v0::request change(std::string method, std::string_view key) {
    return v0::request(std::move(method), v0::request::path_of("/v1/kv/", key));
  }

  v0::sleeping pause(std::chrono::milliseconds time) {
    return v0::sleep_until(sockets_, sockets_.now() + time, &stopping_);
  }
  /// Whether the deadline has passed, or stop() was called.
  /// @param first no request was sent yet; one is sent even after the deadline
  bool waited_enough(bool first) const;
  /// How long the next read may wait for a change.
  std::chrono::milliseconds next_wait() const;

  api_target target_;
  holding_settings settings_;
  /// The key or prefix that watch() follows.
  virtual std::string followed() const = 0;
};

std::unique_ptr<holding> make_semaphore(boost::asio::io_context& loop, const api_target& target, const api_query& scope,
                                        holding_settings settings);

} // namespace belay::cli
