#pragma once
// A blocking client of the HTTP API, for commands that do one thing after another.

#include "cli/api/api_exchange.hpp"

#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace belay::cli {

class api_client {
public:
  explicit api_client(api_target target) : target_(std::move(target)) {}

  const api_target& target() const { return target_; }

  /// Sends one request over a connection of its own.
  /// @returns a failure if no complete response arrived; a write may or may not have taken effect
  result<api_answer> ask(std::string_view method, const std::string& path, const api_query& query,
                         const std::string& body = {}) const;
  result<api_answer> ask(api_request request) const;
  /// Requests `path` and parses the body of a 200 as JSON; every other outcome is a failure.
  /// @param limit for the whole response; zero: no limit
  result<boost::json::value> get_json(const std::string& path, const api_query& query,
                                      std::chrono::milliseconds limit = {}) const;

  /// Sends a request that may run indefinitely. SIGINT and SIGTERM end it.
  /// @returns true if a signal ended it
  result<bool> ask_until_signal(api_request request, api_answer& answer) const;

private:
  api_target target_;
};

/// Sends many requests over one connection, one after another.
class api_channel {
public:
  explicit api_channel(const api_client& client);
  ~api_channel();
  result<api_answer> ask(api_request request);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::cli
