#include "tests/harness/http_client.hpp"

#include "protocol/base/ascii_case.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::harness {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace {

int left_ms(steady_time end) {
  auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

bool wait_for(int fd, short events, steady_time end) {
  for (;;) {
    pollfd p{fd, events, 0};
    int ready = poll(&p, 1, left_ms(end));
    if (ready > 0)
      return true;
    if (ready == 0 && steady_clock::now() >= end)
      return false;
    if (ready < 0 && errno != EINTR)
      return false;
  }
}

std::string bytes_of(const http_request& request) {
  std::string out = request.method + " " + request.target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
  for (const auto& [name, value] : request.headers)
    out += name + ": " + value + "\r\n";
  if (request.body && request.chunked) {
    out += "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < request.body->size(); at += 65536) {
      auto piece = request.body->substr(at, 65536);
      char size[20];
      std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      out += size + piece + "\r\n";
    }
    return out + "0\r\n\r\n";
  }
  if (request.body || request.method == "PUT" || request.method == "POST")
    out += "Content-Length: " + std::to_string(request.body ? request.body->size() : 0) + "\r\n";
  out += "\r\n";
  return request.body ? out + *request.body : out;
}

} // namespace

double seconds_since(steady_time begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

const std::string* http_reply::header(std::string_view name) const {
  auto found = headers.find(lower_case(name));
  return found == headers.end() ? nullptr : &found->second;
}

http_connection::http_connection(std::uint16_t port) : port_(port) {}
http_connection::~http_connection() {
  close();
}

void http_connection::close() {
  int fd = fd_.exchange(-1);
  if (fd >= 0)
    ::close(fd);
  unread_.clear();
}

void http_connection::interrupt() {
  int fd = fd_;
  if (fd >= 0)
    shutdown(fd, SHUT_RDWR);
}

std::string http_connection::connect(milliseconds limit) {
  if (fd_ >= 0)
    return {};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return system_error("socket");
  fd_ = fd;
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0)
    return {};
  std::string why;
  if (errno != EINPROGRESS) {
    why = system_error("connect");
  } else if (!wait_for(fd, POLLOUT, steady_clock::now() + limit)) {
    why = "connect: timed out";
  } else {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error)
      why = std::string("connect: ") + std::strerror(error);
  }
  if (!why.empty())
    close();
  return why;
}

std::string http_connection::send(const http_request& request, milliseconds limit) {
  begun_ = steady_clock::now();
  auto end = begun_ + limit;
  if (auto why = connect(limit); !why.empty())
    return why;
  head_request_ = request.method == "HEAD";
  auto bytes = bytes_of(request);
  for (std::size_t at = 0; at < bytes.size();) {
    auto sent = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent > 0) {
      at += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(fd_, POLLOUT, end))
        return "send: timed out";
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {}; // The server may respond, and close, before it has read everything; the response says why.
    } else {
      return system_error("send");
    }
  }
  return {};
}

http_reply http_connection::failed(std::string why) {
  close();
  http_reply reply;
  reply.error = std::move(why);
  reply.took = seconds_since(begun_);
  return reply;
}

http_reply http_connection::receive(milliseconds limit) {
  if (fd_ < 0)
    return failed("not connected");
  auto end = steady_clock::now() + limit;
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.skip(head_request_);
  parser.header_limit(1 << 20);
  parser.body_limit(boost::none);
  boost::beast::error_code ec;
  bool at_end = false;
  std::vector<char> piece(65536);
  while (!parser.is_done()) {
    if (!unread_.empty()) {
      auto used = parser.put(boost::asio::buffer(unread_), ec);
      unread_.erase(0, used);
      if (ec && ec != http::error::need_more)
        return failed("bad answer: " + ec.message());
      if (!ec && used > 0)
        continue;
    }
    if (at_end)
      break;
    auto got = recv(fd_, piece.data(), piece.size(), 0);
    if (got > 0) {
      unread_.append(piece.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      if (!parser.got_some())
        return failed("connection closed without an answer");
      ec = {};
      parser.put_eof(ec);
      if (ec)
        return failed("connection closed inside the answer: " + ec.message());
      at_end = true;
    } else if (errno == EAGAIN || errno == EINTR) {
      if (!wait_for(fd_, POLLIN, end))
        return failed("timed out");
    } else {
      return failed(system_error("recv"));
    }
  }
  http_reply reply;
  bool keep = parser.keep_alive() && !at_end;
  auto& message = parser.get();
  reply.status = static_cast<int>(message.result_int());
  for (const auto& field : message)
    reply.headers[lower_case(std::string(field.name_string()))] = std::string(field.value());
  reply.body = std::move(message.body());
  reply.took = seconds_since(begun_);
  if (!keep)
    close();
  return reply;
}

http_reply http_connection::ask(const http_request& request, milliseconds limit) {
  auto end = steady_clock::now() + limit;
  if (auto why = send(request, limit); !why.empty())
    return failed(why);
  return receive(milliseconds{left_ms(end)});
}

http_reply exchange(std::uint16_t port, const http_request& request, milliseconds limit) {
  http_connection connection(port);
  return connection.ask(request, limit);
}

http_reply http_get(std::uint16_t port, const std::string& target, milliseconds limit) {
  return exchange(port, {"GET", target, {}, {}, false}, limit);
}

http_reply http_put(std::uint16_t port, const std::string& target, std::string body, milliseconds limit) {
  return exchange(port, {"PUT", target, {}, std::move(body), false}, limit);
}

} // namespace belay::harness
