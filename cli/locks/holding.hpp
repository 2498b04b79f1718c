#pragma once
// What `belay lock` and its like hold while their command runs, and the session that it is held by. Of locks and semaphores of
// keys, keys, flags and bodies are those of Consul's clients, so that both programs wait for each other.

#include "cli/locks/session_lease.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::cli {

struct holding_settings {
  std::string prefix;             ///< of the keys, without slashes at its ends
  std::size_t limit = 1;          ///< holders at once
  acquire_deadline deadline = {}; ///< to wait for it
  std::size_t retries = 3;        ///< errors in a row that are taken while it is held
};

class holding {
public:
  virtual ~holding() = default;

  /// Makes the session. @param name for people who look
  virtual boost::asio::awaitable<status> begin(std::string name) = 0;
  /// Renews it until it has ended, or end() was called.
  virtual boost::asio::awaitable<void> keep() = 0;
  /// Ends it, so that nobody has to wait for its TTL. Release before: else nobody gets what is held for the lock delay.
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

  /// `X-Belay-Fence` of the grant; empty where there is none (docs/http-extensions.md).
  virtual std::string fence() const { return {}; }
  virtual std::string key() const = 0;
};

/// A lock, or with limit > 1 a semaphore, of keys.
std::unique_ptr<holding> make_holding(const boost::asio::any_io_executor& executor, const api_target& target,
                                      api_query scope, holding_settings settings);

/// A row of /v1/kv.
struct key_row {
  std::string key, session, value;
  std::uint64_t flags = 0, modify_index = 0;
};

/// The keys of both kinds of holdings, read and written one after the other, until stop().
class lock_keys {
public:
  /// @param deadline no request takes longer, until had() is called
  lock_keys(boost::asio::any_io_executor executor, const api_target& target, api_query scope,
            const acquire_deadline& deadline);

  struct reading {
    std::vector<key_row> rows;
    std::uint64_t index = 0;
    std::string fence;
    bool retryable = false; ///< of a failure: it may be different soon
    std::string complaint;  ///< empty: it was read
  };
  /// @param index what was seen last: waits for a change; 0: at once. @param wait at most so long
  boost::asio::awaitable<reading> read(std::string key, bool below, bool consistent, std::uint64_t index,
                                       std::chrono::milliseconds wait);
  /// A PUT or DELETE that is answered true or false. @param limit until the answer is there
  boost::asio::awaitable<result<bool>> write(std::string method, std::string key, api_query how, std::string body,
                                             api_answer* whole = nullptr,
                                             std::chrono::milliseconds limit = std::chrono::seconds(15));

  boost::asio::awaitable<void> pause(std::chrono::milliseconds time) { return bell_.wait(time); }
  bool stopped() const { return stopped_; }
  void stop();
  /// Goes on after stop(), to release what is held. @pre nothing is under way
  void restart();
  const api_query& scope() const { return scope_; }
  /// In force now; none once had() was called.
  const acquire_deadline& deadline() const { return deadline_; }
  /// What was asked for is held: the deadline does not count any more.
  void had() { deadline_ = {}; }

private:
  boost::asio::any_io_executor executor_;
  api_target target_;
  api_query scope_;
  acquire_deadline deadline_;
  std::unique_ptr<api_connection> connection_;
  bell bell_;
  bool stopped_ = false;
};

/// What is held by keys.
class key_holding : public holding {
public:
  key_holding(const boost::asio::any_io_executor& executor, const api_target& target, api_query scope,
              holding_settings settings)
      : lease_(executor, target, scope), keys_(executor, target, std::move(scope), settings.deadline),
        settings_(std::move(settings)) {}

  boost::asio::awaitable<status> begin(std::string name) override {
    return lease_.begin(std::move(name), keys_.deadline());
  }
  boost::asio::awaitable<void> keep() override { return lease_.keep(); }
  boost::asio::awaitable<void> end() override;
  std::string session() const override { return lease_.id(); }
  lock_clock::time_point valid_until() const override { return lease_.valid_until(); }
  bool over() const override { return lease_.over(); }
  void stop() override { keys_.stop(); }
  boost::asio::awaitable<result<bool>> acquire() final;

protected:
  /// acquire(), as it is done.
  virtual boost::asio::awaitable<result<bool>> take() = 0;

  session_lease lease_;
  lock_keys keys_;
  holding_settings settings_;
};

} // namespace belay::cli
