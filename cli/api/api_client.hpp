#pragma once
// The API for commands that do one thing after the other.

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

  /// Over a connection of its own.
  /// @returns a failure if there was no complete answer: then a write may or may not have happened.
  result<api_answer> ask(std::string_view method, const std::string& path, const api_query& query,
                         const std::string& body = {}) const;
  result<api_answer> ask(api_request request) const;
  /// The body of a 200 as JSON; everything else is a failure. @param limit until the answer is
  /// there; zero: none
  result<boost::json::value> get_json(const std::string& path, const api_query& query,
                                      std::chrono::milliseconds limit = {}) const;

  /// Such a request, without end; SIGINT and SIGTERM end it.
  /// @returns true: it was ended so
  result<bool> ask_until_signal(api_request request, api_answer& answer) const;

private:
  api_target target_;
};

/// Many requests over one connection, one after the other.
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
