#pragma once
// The client library's transport for commands that keep running while no server responds. The
// library's recipes retry silently; this class reports when requests begin to fail, and when they
// succeed again.

#include "cli/api/api_connection.hpp"

#include <functional>
#include <memory>
#include <string>

namespace belay::cli {

/// Whether the call ended because its deadline passed or it was stopped. That is not a failure.
inline bool is_given_up(const v0::error& why) {
  return why.reason() == v0::reason::deadline || why.reason() == v0::reason::stopped;
}
/// Whether a later retry may succeed: no server responded, or one was overloaded or failed.
bool passes(const v0::error& why);

class command_environment : public v0::detail::socket_environment {
public:
  /// @param scope added to each query, such as `dc=dc2`; empty: nothing
  command_environment(boost::asio::io_context& loop, const api_target& target, std::string scope);

  /// Calls `warn` with an error text when requests begin to get no response or a server error, and
  /// with an empty text when one succeeds again.
  void on_trouble(std::function<void(const std::string& what)> warn) { seen_->warn = std::move(warn); }

  /// The HTTP status of the last response; 0 before the first one.
  int last_status() const { return seen_->last_status; }
  /// The number of transactions that servers committed.
  std::uint64_t transactions() const { return seen_->transactions; }

private:
  struct observations {
    void take(const v0::request& q, std::chrono::nanoseconds given, const v0::answer& a);

    std::function<void(const std::string&)> warn;
    bool troubled = false;
    int last_status = 0;
    std::uint64_t transactions = 0;
  };

  command_environment(boost::asio::io_context& loop, const api_target& target, std::string scope,
                      std::shared_ptr<observations> seen);

  std::shared_ptr<observations> seen_;
};

} // namespace belay::cli
