#pragma once
// A member of a group that works through changes, by the client library: belay::consumer, and the session that it is in it by.

#include "cli/recipes/library_end.hpp"
#include "cli/recipes/told_changes.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

struct api_target;

struct group_order {
  std::string prefix, name;
  std::string session_name;                      ///< for people who look
  std::chrono::milliseconds again_after{30'000}; ///< when a change without an acknowledgement comes again
  std::uint64_t tries_max = 5;                   ///< then it is put aside
};

struct told_delivery {
  told_changes what; ///< one change; or all keys, if it is a snapshot
  std::string dead;  ///< below NAME/dead/, if it is put aside
  std::uint64_t tries = 1;
  std::uint64_t fence = 0;
};

class library_group {
public:
  /// @param scope what is added to each query, as `dc=dc2`
  library_group(const boost::asio::any_io_executor& executor, const api_target& target, std::string scope,
                const group_order& order);
  ~library_group();
  library_group(const library_group&) = delete;
  library_group& operator=(const library_group&) = delete;

  /// command_world::on_trouble()
  void on_trouble(std::function<void(const std::string& what)> told);
  /// Waits until this member is the group's and something is to be done, however long servers are away. A session that was lost is
  /// followed by another one.
  boost::asio::awaitable<library_end> next(told_delivery& out);
  /// What was delivered is done. It fails if it is somebody else's by now.
  boost::asio::awaitable<library_end> acknowledge();
  /// Returns when the session is lost by which the last delivery was made, or handled() was called.
  boost::asio::awaitable<bool> lost();
  /// For how long no server ends that session; not positive: it may have ended.
  std::chrono::nanoseconds safe_for() const;
  /// Ends lost(): nobody works on the delivery any more.
  void handled();
  /// Lets the next member go on. Nothing may be called afterwards.
  boost::asio::awaitable<void> leave();
  /// Ends next().
  void stop();

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

} // namespace belay::cli
