#pragma once
// Parses the bytes of one connection into HTTP requests, however they are split. No sockets.

#include "actors/gateway/http_chunks.hpp"
#include "protocol/http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::actors {

struct http_reader_rules {
  /// Limit of request line and headers (docs/contract/01, section 1: about 1 MiB).
  std::size_t header_bytes_max = 1u << 20;
  /// Largest body of such a request, and whether to stream it. Called when the header is complete.
  std::function<http::body_limit(std::string_view method, std::string_view target)> body_limit;
};

class http_reader {
public:
  enum class outcome {
    more,     ///< the request is not complete
    complete, ///< call request(), then reset()
    head,     ///< headers of a request with a streamed body: call request(), continue with read() and take_body()
    // After these nothing more can be read from the connection:
    bad_request,      ///< not HTTP
    no_host,          ///< HTTP/1.1 without a Host header; Go rejects this and the next two, in the same order
    many_hosts,       ///< more than one
    malformed_host,   ///< with characters that no host has
    header_too_large, ///< 431
    body_too_large,   ///< 413, see declared_length()
  };

  /// @param rules must outlive the reader
  explicit http_reader(const http_reader_rules& rules);
  ~http_reader();
  http_reader(const http_reader&) = delete;
  http_reader& operator=(const http_reader&) = delete;

  /// Reads at most one request from the front of `input`.
  /// @param used bytes consumed. Pass the rest again, followed by more;
  /// after outcome `complete` it belongs to the next request.
  outcome read(std::string_view input, std::size_t& used);

  /// Valid from `complete` until reset(); after other outcomes as far as it was read.
  /// The caller sets remote_address.
  const http::raw_request& request() const { return request_; }
  /// After outcome `head`: body bytes received since the last call.
  std::string take_body();
  /// Length in the header; 0: none, or chunked.
  std::uint64_t declared_length() const { return declared_; }
  /// The header is complete, and the client waits for `100 Continue` before the body. True once.
  bool take_expectation();
  /// Whether the client wants to reuse this connection.
  bool keep_alive() const { return keep_alive_; }
  /// Whether the client uses HTTP/1.0, which closes a connection by default.
  bool old_version() const { return old_version_; }
  bool has_head() const { return head_done_; }
  /// Memory for the part of the request read so far, in bytes.
  std::size_t held_bytes() const { return head_.capacity() + body_.capacity(); }
  /// Whether some bytes of a request were read, but not all.
  bool in_request() const { return started_; }

  /// Ready for the next request; keeps small buffers.
  void reset();

private:
  class parser;
  friend class parser;

  outcome read_head(std::string_view input, std::size_t& used);
  /// @param input lines that end in CR LF
  outcome read_lines(std::string_view input, std::size_t& used);
  outcome read_body(std::string_view input, std::size_t& used);
  void finish_head();
  /// Bytes received, without optional blanks.
  std::size_t head_bytes() const { return head_.size() + 4 * fields_.size(); }

  const http_reader_rules& rules_;
  std::unique_ptr<parser> parser_;
  http::raw_request request_;
  std::string head_; ///< the bytes that request_ refers to
  struct span {
    std::size_t begin = 0, size = 0;
  };
  span method_, target_;
  std::vector<std::pair<span, span>> fields_;
  std::string body_;
  http::body_limit limit_;
  std::uint64_t body_taken_ = 0; ///< by take_body()
  std::uint64_t declared_ = 0;
  outcome refused_ = outcome::bad_request;
  bool head_done_ = false;
  bool chunked_ = false;
  chunk_decoder chunks_;
  int hosts_ = 0, lengths_ = 0, encodings_ = 0; ///< fields of that name
  bool host_is_malformed_ = false;
  bool expects_continue_ = false;
  bool keep_alive_ = true;
  bool old_version_ = false;
  bool started_ = false;
  std::size_t searched_ = 0; ///< bytes of the unfinished head that have no end of the head
};

} // namespace belay::actors
