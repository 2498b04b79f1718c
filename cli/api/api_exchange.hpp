#pragma once
// A request to a node's HTTP API, and its answer.

#include "cli/api/api_address.hpp"
#include "cli/names.hpp"

#include <belay/world.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace boost::asio::ssl {
class context;
}

namespace belay::cli {

/// Where requests go, and in whose name.
struct api_target {
  api_address where;
  std::string token = {};
  std::string basic_auth = {};
  std::shared_ptr<boost::asio::ssl::context> tls = {}; ///< null: plain HTTP. Not null if where.https
  std::string server_name = {};                        ///< that its certificate must have; empty: where.host
};

/// Takes the next piece of a body. @returns false: no more is wanted, and the answer is a failure
using body_sink = std::function<bool(std::string_view)>;

struct api_request {
  std::string method;
  std::string path; ///< escaped, from `/v1` on
  api_query query;
  std::string idempotency_key = {}; ///< of a write; empty: none
  std::string body = {};
  std::string body_file = {};         ///< not empty: the body is that of this file
  body_sink sink = {};                ///< what takes the body of a 200, piece by piece; null: it is part of the answer
  std::chrono::milliseconds limit{0}; ///< until the answer is there; zero: none
  bool last = false;                  ///< the server is asked to close the connection
};

struct api_answer {
  unsigned status = 0;
  std::string body;
  v0::answer whole = {}; ///< its headers

  bool found() const { return status == 200; }
  /// Empty if it was not sent.
  std::string header(const std::string& name) const;
  /// A header that is a number; nullopt: it was not sent, or is none.
  std::optional<std::uint64_t> number(const std::string& name) const;
  /// As Consul's Go client words it: `Unexpected response code: 500 (text)`.
  std::string complaint() const;
};
/// Why it is no 200; empty if it is one.
std::string complaint_about(const result<api_answer>& answer);
std::string complaint_about(const api_target& target, const v0::request& q, const v0::answer& answer);

} // namespace belay::cli
