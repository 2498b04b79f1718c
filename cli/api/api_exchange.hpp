#pragma once
// A request to a node's HTTP API, and the response.

#include "cli/api/api_address.hpp"
#include "cli/names.hpp"

#include <belay/environment.hpp>

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

/// No deadline.
constexpr std::chrono::hours for_ever{24 * 365};

/// The error text of Consul's Go client: `Unexpected response code: 500 (text)`.
std::string unexpected_response(std::uint64_t status, std::string_view text);

/// Where requests go, and the credentials that they carry.
struct api_target {
  api_address where;
  std::string token = {};
  std::string basic_auth = {};
  std::shared_ptr<boost::asio::ssl::context> tls = {}; ///< null only for plain HTTP
  std::string server_name = {};                        ///< expected in its certificate; empty: where.host
};

/// Receives the body piece by piece.
/// @returns false to stop, which makes the response a failure
using body_sink = std::function<bool(std::string_view)>;

struct api_request {
  std::string method;
  std::string path; ///< escaped, beginning with `/v1`
  api_query query;
  std::string idempotency_key = {}; ///< for a write; empty: none
  std::string body = {};
  std::string body_file = {};         ///< if not empty: the file that is the body
  body_sink sink = {};                ///< receives the body of a 200; null: it is in the response
  std::chrono::milliseconds limit{0}; ///< for the whole response; zero: no limit
  bool last = false;                  ///< asks the server to close the connection afterwards
};

struct api_answer {
  unsigned status = 0;
  std::string body;
  v0::answer whole = {}; ///< the library's response, for its headers

  bool found() const { return status == 200; }
  /// @returns empty if the server did not send this header
  std::string header(const std::string& name) const;
  /// @returns nullopt if the server did not send this header, or if it is not a number
  std::optional<std::uint64_t> number(const std::string& name) const;
  /// The error text for an unexpected response, from its status and body.
  std::string complaint() const;
};
/// Why the response is not a 200; empty if it is one.
std::string complaint_about(const result<api_answer>& answer);
std::string complaint_about(const api_target& target, const v0::request& q, const v0::answer& answer);

} // namespace belay::cli
