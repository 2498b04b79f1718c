#include "actors/agent/grpc_call.hpp"

#include "protocol/base/hex.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace belay::actors {

namespace {

// A health response has two bytes, headers and trailers a few dozen.
constexpr std::size_t answer_bytes_max = 4096, text_bytes_max = 4096;
constexpr std::size_t prefix_bytes = 5; // compressed or not, and a length of four bytes
constexpr int code_unknown = 2, code_internal = 13;

nghttp2_nv header_field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view s) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(s.data())); // read only
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

void append_varint(std::string& out, std::size_t n) {
  for (; n >= 0x80; n >>= 7)
    out += static_cast<char>((n & 0x7f) | 0x80);
  out += static_cast<char>(n);
}

/// HealthCheckRequest{service = 1}, with the prefix of an uncompressed message.
std::string request_message(const std::string& service) {
  std::string message;
  if (!service.empty()) {
    message += '\x0a';
    append_varint(message, service.size());
    message += service;
  }
  std::string out(1, '\0');
  for (const int shift : {24, 16, 8, 0})
    out += static_cast<char>(static_cast<std::uint8_t>(message.size() >> shift));
  return out + message;
}

/// Removes a protobuf varint from the front. @returns nullopt: there is none
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t n = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto b = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    n |= static_cast<std::uint64_t>(b & 0x7f) << shift;
    if (b < 0x80)
      return n;
  }
  return std::nullopt;
}

/// HealthCheckResponse{status = 1}; unknown fields are skipped. @returns nullopt: it is invalid
std::optional<std::uint64_t> status_in(std::string_view answer) {
  if (answer.size() < prefix_bytes || answer.front() != '\0') // this client does not accept compression
    return std::nullopt;
  auto message = answer.substr(prefix_bytes);
  std::uint64_t status = 0;
  while (!message.empty()) {
    const auto tag = take_varint(message);
    if (!tag)
      return std::nullopt;
    constexpr std::uint64_t varint = 0, eight_bytes = 1, text = 2, four_bytes = 5;
    std::uint64_t skipped = 0;
    if (const auto type = *tag & 7; type == varint) {
      const auto value = take_varint(message);
      if (!value)
        return std::nullopt;
      if (*tag >> 3 == 1)
        status = *value;
    } else if (type == text) {
      const auto size = take_varint(message);
      if (!size)
        return std::nullopt;
      skipped = *size;
    } else if (type == eight_bytes || type == four_bytes) {
      skipped = type == eight_bytes ? 8 : 4;
    } else {
      return std::nullopt;
    }
    if (skipped > message.size())
      return std::nullopt;
    message.remove_prefix(static_cast<std::size_t>(skipped));
  }
  return status;
}

/// PROTOCOL-HTTP2: the message of a status is percent-encoded.
std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() && text[i] == '%' ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

} // namespace

std::string grpc_error(int code, std::string_view text) {
  static constexpr std::array<std::string_view, 17> names = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const bool known = code >= 0 && code < static_cast<int>(names.size());
  return "rpc error: code = " +
         (known ? std::string(names[static_cast<std::size_t>(code)]) : "Code(" + std::to_string(code) + ")") +
         " desc = " + std::string(text);
}

struct grpc_call::callbacks {
  static grpc_call& self(void* user) { return *static_cast<grpc_call*>(user); }

  static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                    const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    self(user).on_header({reinterpret_cast<const char*>(name), name_size},
                         {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }
  static int data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes, std::size_t size,
                  void* user) {
    self(user).on_data({reinterpret_cast<const char*>(bytes), size});
    return 0;
  }
  static int closed(nghttp2_session*, std::int32_t, std::uint32_t error, void* user) {
    self(user).on_closed(error);
    return 0;
  }
  static ssize_t body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size, std::uint32_t* flags,
                      nghttp2_data_source*, void* user) {
    auto& call = self(user);
    const auto n = std::min(size, call.request_.size() - call.request_sent_);
    std::memcpy(to, call.request_.data() + call.request_sent_, n);
    call.request_sent_ += n;
    if (call.request_sent_ == call.request_.size())
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }
};

grpc_call::grpc_call(const question& q) : request_(request_message(q.service)) {
  nghttp2_session_callbacks* receives = nullptr;
  if (nghttp2_session_callbacks_new(&receives) != 0) {
    conclude(grpc_error(code_internal, "out of memory"));
    return;
  }
  nghttp2_session_callbacks_set_on_header_callback(receives, callbacks::header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(receives, callbacks::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(receives, callbacks::closed);
  const int made = nghttp2_session_client_new(&session_, receives, this);
  nghttp2_session_callbacks_del(receives);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, text_bytes_max * 2}};
  const nghttp2_nv headers[] = {header_field(":method", "POST"),
                                header_field(":scheme", q.tls ? "https" : "http"),
                                header_field(":path", "/grpc.health.v1.Health/Check"),
                                header_field(":authority", q.authority),
                                header_field("content-type", "application/grpc"),
                                header_field("te", "trailers"),
                                header_field("user-agent", "Consul Health Check")};
  nghttp2_data_provider body{};
  body.read_callback = callbacks::body;
  if (made != 0 || nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) != 0 ||
      nghttp2_submit_request(session_, nullptr, headers, std::size(headers), &body, nullptr) < 0)
    conclude(grpc_error(code_internal, "out of memory"));
}

grpc_call::~grpc_call() {
  nghttp2_session_del(session_); // null: no effect
}

std::string grpc_call::take_output() {
  std::string out;
  const std::uint8_t* bytes = nullptr;
  if (session_ == nullptr)
    return out;
  for (;;) {
    const auto n = nghttp2_session_mem_send(session_, &bytes);
    if (n < 0)
      conclude(grpc_error(code_internal, nghttp2_strerror(static_cast<int>(n))));
    if (n == 0 && out.empty() && nghttp2_session_want_read(session_) == 0)
      ended(); // the input was not HTTP/2, and the peer has been notified
    if (n <= 0)
      return out;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
  }
}

void grpc_call::feed(std::string_view bytes) {
  if (session_ == nullptr || outcome_)
    return;
  const auto n = nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (n < 0)
    conclude(grpc_error(grpc_unavailable, "connection closed")); // not HTTP/2: in Go's words
}

void grpc_call::ended() {
  conclude(grpc_error(grpc_unavailable, "connection closed"));
}

void grpc_call::on_header(std::string_view name, std::string_view value) {
  const auto text = std::string(value.substr(0, text_bytes_max));
  if (name == ":status")
    http_status_ = text;
  else if (name == "grpc-status")
    grpc_status_ = text;
  else if (name == "grpc-message")
    grpc_message_ = decoded(text);
}

void grpc_call::on_data(std::string_view bytes) {
  answer_ += bytes.substr(0, answer_bytes_max - std::min(answer_bytes_max, answer_.size()));
}

void grpc_call::on_closed(std::uint32_t error_code) {
  if (error_code != NGHTTP2_NO_ERROR)
    return conclude(grpc_error(code_internal, std::string("stream terminated by RST_STREAM with error code: ") +
                                                  nghttp2_http2_strerror(error_code)));
  conclude(health_error().value_or(""));
}

/// nullopt: the service is healthy.
std::optional<std::string> grpc_call::health_error() const {
  if (grpc_status_.empty())
    return grpc_error(http_status_ == "200" ? code_internal : code_unknown,
                      http_status_ == "200" ? "server closed the stream without sending trailers"
                                            : "unexpected HTTP status code received from server: " + http_status_);
  int code = code_unknown;
  std::from_chars(grpc_status_.data(), grpc_status_.data() + grpc_status_.size(), code);
  if (code != 0)
    return grpc_error(code, grpc_message_);
  constexpr std::uint64_t serving = 1;
  const auto status = status_in(answer_);
  if (!status)
    return grpc_error(code_internal, "the response is not a grpc.health.v1.HealthCheckResponse");
  if (*status != serving)
    return "gRPC application didn't report service healthy"; // Consul's text
  return std::nullopt;
}

void grpc_call::conclude(std::string text) {
  if (!outcome_)
    outcome_ = std::move(text);
}

} // namespace belay::actors
