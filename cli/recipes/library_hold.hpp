#pragma once
// What a command holds by the client library: its session, and one lock, permits or an office. For one coroutine after the other.

#include "cli/recipes/library_end.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace belay::cli {

struct api_target;

struct hold_wish {
  enum class kind : std::uint8_t {
    permits,
    office,
    reader, ///< of a lock that readers have together
    writer, ///< of such a lock, alone
  } of = kind::permits;
  std::string name;
  std::uint64_t permits = 1; ///< that are taken
  std::uint64_t limit = 1;   ///< permits that there are
  std::string value;         ///< what others see of who has the office
};

class library_hold {
public:
  /// @param scope what is added to each query, as `dc=dc2`
  library_hold(const boost::asio::any_io_executor& executor, const api_target& target, std::string scope);
  ~library_hold();
  library_hold(const library_hold&) = delete;
  library_hold& operator=(const library_hold&) = delete;

  /// Makes the session within that time; it is renewed from then on. @param name for people who look
  boost::asio::awaitable<library_end> open(std::string name, std::chrono::milliseconds within);
  /// @param patience how long to wait; zero: for ever
  boost::asio::awaitable<library_end> acquire(hold_wish wish, std::chrono::milliseconds patience);
  /// Returns when the session is lost, or stop() was called.
  boost::asio::awaitable<void> lost();
  /// Gives back what is held. Also after stop().
  boost::asio::awaitable<library_end> release();
  /// Ends the session, or leaves it to its TTL when the time is over. Nothing may be called afterwards.
  boost::asio::awaitable<void> close(std::chrono::milliseconds within);
  /// Ends acquire() and lost().
  void stop();

  const std::string& session() const;
  /// Of what is held; 0: there is none.
  std::uint64_t fence() const;
  /// For how long no server ends the session; not positive: it may have ended.
  std::chrono::nanoseconds safe_for() const;
  /// Why the session was lost; empty as long as it was not.
  const std::string& lost_because() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace belay::cli
