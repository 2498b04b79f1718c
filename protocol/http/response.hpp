#pragma once
// An HTTP response before it is serialized.

#include "protocol/base/bytes.hpp"
#include "protocol/http/shared_body.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::http {

struct response {
  int status = 200;
  std::string_view content_type; ///< static text; empty: no Content-Type
  /// Names are static texts; without Date, Content-Length, Vary.
  std::vector<std::pair<std::string_view, std::string>> headers;
  std::string body;
  payload body_shared;         ///< if not null, the body (no copy of a ?raw value)
  shared_body_ptr body_pieces; ///< if not null, the body; the caller of serialize_head() sends it
  bool vary = true;            ///< Vary: Accept-Encoding (all but the router's own 404, 301, 400)
  bool close = false;          ///< close the connection after it
};

/// Error text as the contract sends it (text/plain; charset=utf-8).
response error_response(int status, std::string text);
/// An error found before routing; it closes the connection and has no Vary.
response closing_error(int status, std::string text);
/// The same, for what is not HTTP.
response malformed_request();

/// Appends status line, headers and body to `out`; `date` is the value
/// of the Date header. For HEAD, the caller passes an empty body. gzip:
/// compresses a non-empty body. `extra` are configured response headers.
void serialize(const response& r, std::string_view date, bool keep_alive, bool gzip,
               const std::vector<std::pair<std::string, std::string>>& extra, std::string& out);

/// Status line and headers alone, for `body_bytes` of body from elsewhere, such as body_shared.
/// `encoded`: those bytes are gzip.
void serialize_head(const response& r, std::string_view date, bool keep_alive, bool encoded, std::size_t body_bytes,
                    const std::vector<std::pair<std::string, std::string>>& extra, std::string& out);

/// The head of a body of unknown length: `chunked`, or up to the end of the connection.
void serialize_stream_head(const response& r, std::string_view date, bool keep_alive, bool chunked, bool gzip,
                           const std::vector<std::pair<std::string, std::string>>& extra, std::string& out);
/// One chunk of such a body; an empty one ends it.
void append_chunk(std::string& out, std::string_view bytes);

} // namespace belay::http
