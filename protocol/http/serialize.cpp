#include "protocol/archive/gzip.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/http/response.hpp"

#include <algorithm>
#include <charconv>

namespace belay::http {

namespace {

/// The whole status line, and what follows it in every response.
std::string_view head_of(int status) {
  switch (status) {
  case 200:
    return "HTTP/1.1 200 OK\r\n";
  case 301:
    return "HTTP/1.1 301 Moved Permanently\r\n";
  case 304:
    return "HTTP/1.1 304 Not Modified\r\n";
  case 400:
    return "HTTP/1.1 400 Bad Request\r\n";
  case 401:
    return "HTTP/1.1 401 Unauthorized\r\n";
  case 403:
    return "HTTP/1.1 403 Forbidden\r\n";
  case 404:
    return "HTTP/1.1 404 Not Found\r\n";
  case 405:
    return "HTTP/1.1 405 Method Not Allowed\r\n";
  case 408:
    return "HTTP/1.1 408 Request Timeout\r\n";
  case 409:
    return "HTTP/1.1 409 Conflict\r\n";
  case 410:
    return "HTTP/1.1 410 Gone\r\n";
  case 413:
    return "HTTP/1.1 413 Request Entity Too Large\r\n";
  case 415:
    return "HTTP/1.1 415 Unsupported Media Type\r\n";
  case 417:
    return "HTTP/1.1 417 Expectation Failed\r\n";
  case 429:
    return "HTTP/1.1 429 Too Many Requests\r\n";
  case 431:
    return "HTTP/1.1 431 Request Header Fields Too Large\r\n";
  case 500:
    return "HTTP/1.1 500 Internal Server Error\r\n";
  case 501:
    return "HTTP/1.1 501 Not Implemented\r\n";
  case 503:
    return "HTTP/1.1 503 Service Unavailable\r\n";
  case 505:
    return "HTTP/1.1 505 HTTP Version Not Supported\r\n";
  default:
    return {};
  }
}

constexpr bool ends_a_line(char c) {
  return c == '\r' || c == '\n' || c == '\0';
}

/// Replaces line breaks in a value by spaces, as in Go: a row cannot end the header.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value);
  if (std::any_of(value.begin(), value.end(), ends_a_line)) [[unlikely]]
    std::replace_if(out.end() - static_cast<std::ptrdiff_t>(value.size()), out.end(), ends_a_line, ' ');
  out.append("\r\n");
}

/// Everything before the header about the body's length.
void append_head(const response& r, std::string_view date, bool encoded,
                 const std::vector<std::pair<std::string, std::string>>& extra, std::string& out) {
  if (const auto head = head_of(r.status); !head.empty())
    out.append(head);
  else {
    out += "HTTP/1.1 ";
    go_compat::append_number(out, r.status);
    out += " Status\r\n";
  }
  if (r.vary)
    out += "Vary: Accept-Encoding\r\n";
  if (!r.content_type.empty())
    append_header(out, "Content-Type", r.content_type);
  if (encoded)
    out += "Content-Encoding: gzip\r\n";
  for (const auto& [name, value] : r.headers)
    append_header(out, name, value);
  for (const auto& [name, value] : extra)
    append_header(out, name, value);
  out.append("Date: ").append(date).append("\r\n");
}

void end_head(const response& r, bool keep_alive, std::string& out) {
  out += r.close || !keep_alive ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n";
}

} // namespace

void serialize_head(const response& r, std::string_view date, bool keep_alive, bool encoded, std::size_t body_bytes,
                    const std::vector<std::pair<std::string, std::string>>& extra, std::string& out) {
  append_head(r, date, encoded, extra, out);
  out += "Content-Length: ";
  go_compat::append_number(out, body_bytes);
  end_head(r, keep_alive, out);
}

void serialize_stream_head(const response& r, std::string_view date, bool keep_alive, bool chunked, bool gzip,
                           const std::vector<std::pair<std::string, std::string>>& extra, std::string& out) {
  append_head(r, date, gzip, extra, out);
  if (chunked)
    out += "Transfer-Encoding: chunked";
  else
    out.resize(out.size() - 2); // end_head begins with a line end
  end_head(r, keep_alive, out);
}

void append_chunk(std::string& out, std::string_view bytes) {
  char size[20];
  const auto end = std::to_chars(size, size + sizeof size, bytes.size(), 16).ptr;
  out.append(size, static_cast<std::size_t>(end - size)).append("\r\n").append(bytes).append("\r\n");
}

void serialize(const response& r, std::string_view date, bool keep_alive, bool gzip,
               const std::vector<std::pair<std::string, std::string>>& extra, std::string& out) {
  const std::string_view plain = r.body_shared ? std::string_view(*r.body_shared) : std::string_view(r.body);
  std::string packed;
  // Only registered handlers compress, and those send Vary.
  const bool encoded = gzip && r.vary && !plain.empty() && archive::append_gzip(packed, plain);
  const auto body = encoded ? std::string_view(packed) : plain;
  constexpr std::size_t head_bytes_typical = 320;
  if (out.capacity() - out.size() < head_bytes_typical + body.size())
    out.reserve(out.size() + head_bytes_typical + body.size());
  serialize_head(r, date, keep_alive, encoded, body.size(), extra, out);
  out.append(body);
}

} // namespace belay::http
