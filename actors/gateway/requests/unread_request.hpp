#pragma once
// A request with a large body, kept unparsed until its token is known.
// Only clients with permissions may use the memory and time that parsing takes.

#include "protocol/http/request.hpp"

#include <string>
#include <utility>
#include <vector>

namespace belay::actors {

struct unread_request {
  std::string method, target, body, remote_address;
  std::vector<std::pair<std::string, std::string>> headers;
  std::int64_t now_ns = 0;
  const http::client_agent* passed_on_by = nullptr; ///< the connection's client agent; outlives its requests

  explicit unread_request(const http::raw_request& r)
      : method(r.method), target(r.target), body(r.body), remote_address(r.remote_address),
        headers(r.headers.begin(), r.headers.end()), now_ns(r.now_ns), passed_on_by(r.passed_on_by) {}

  /// Valid while this object is not moved.
  http::raw_request view() const {
    return {method, target, {headers.begin(), headers.end()}, body, remote_address, now_ns, passed_on_by};
  }
};

} // namespace belay::actors
