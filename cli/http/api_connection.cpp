#include "cli/http/api_connection.hpp"

#include "cli/output/private_file.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/golang/base64.hpp"
#include "protocol/golang/syntax.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace belay::cli {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::size_t piece_bytes = 64 * 1024;
constexpr std::chrono::milliseconds connect_limit =
    std::chrono::seconds(10); // a lost SYN is sent again after 1, 3 and 7 s

/// Reads one answer; hands on what comes of its body.
asio::awaitable<result<api_answer>> receive(byte_stream& stream, const api_request& request, bool& reusable) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none); // an export may be of any size
  parser.eager(true);
  std::string unread;
  std::array<char, piece_bytes> piece;
  const auto wanted = [&] { return request.sink && parser.is_header_done() && parser.get().result_int() == 200; };
  while (!parser.is_done()) {
    error_code ec;
    const auto n = co_await stream.read_some(asio::buffer(piece), ec);
    if (ec == asio::error::eof || ec == asio::ssl::error::stream_truncated) {
      error_code left;
      if (parser.got_some())
        parser.put_eof(left);
      if (parser.is_done())
        break;
      co_return failure{left ? left.message() : "end of stream"};
    }
    if (ec)
      co_return failure{ec == boost::beast::error::timeout ? "no answer in time" : ec.message()};
    unread.append(piece.data(), n);
    while (!unread.empty() && !parser.is_done()) {
      const auto used = parser.put(asio::buffer(unread), ec);
      unread.erase(0, used);
      if (ec == http::error::need_more)
        break;
      if (ec)
        co_return failure{ec.message()};
      if (used == 0)
        break;
    }
    if (wanted() && !parser.get().body().empty()) {
      if (!request.sink(parser.get().body()))
        co_return failure{"the answer is not wanted any more"};
      parser.get().body().clear();
    }
  }
  auto message = parser.release();
  reusable = message.keep_alive();
  api_answer answer;
  answer.status = message.result_int();
  for (const auto& field : message)
    answer.headers[lower_case(std::string_view(field.name_string().data(), field.name_string().size()))] =
        std::string(field.value());
  answer.body = std::move(message.body());
  co_return answer;
}

} // namespace

std::string api_answer::header(const std::string& name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? std::string() : it->second;
}

std::optional<std::uint64_t> api_answer::number(const std::string& name) const {
  return golang::parse_uint(header(name));
}

std::string api_answer::complaint() const {
  return "Unexpected response code: " + std::to_string(status) + " (" + body + ")";
}

std::string complaint_about(const result<api_answer>& answer) {
  return !answer ? answer.error() : answer->found() ? std::string() : answer->complaint();
}

api_connection::api_connection(asio::any_io_executor executor, api_target target)
    : executor_(std::move(executor)), target_(std::move(target)) {
  PRECONDITION(!target_.where.https || target_.tls != nullptr);
}

api_connection::~api_connection() = default;

void api_connection::close() {
  closed_ = true;
  if (stream_)
    stream_->close();
}

asio::awaitable<result<api_answer>> api_connection::ask(api_request request) {
  const auto target = request.path + (request.query.text().empty() ? "" : "?" + request.query.text());
  auto answer = co_await send_and_receive(request, target);
  if (!answer) {
    stream_.reset();
    co_return failure{request.method + " " + target_.where.text() + target + ": " + answer.error()};
  }
  co_return answer;
}

asio::awaitable<result<api_answer>> api_connection::send_and_receive(const api_request& request,
                                                                     const std::string& target) {
  sent_ = false;
  if (closed_)
    co_return failure{"the connection was closed"};
  const auto& where = target_.where;
  std::string head = request.method + " " + target + " HTTP/1.1\r\nHost: " +
                     (where.unix_path.empty() ? join_host_port(where.host, where.port) : "localhost") + "\r\n";
  if (request.last)
    head += "Connection: close\r\n";
  if (!target_.token.empty())
    head += "X-Consul-Token: " + target_.token + "\r\n";
  if (!request.idempotency_key.empty())
    head += "Idempotency-Key: " + request.idempotency_key + "\r\n";
  if (!target_.basic_auth.empty())
    head += "Authorization: Basic " + golang::base64(target_.basic_auth) + "\r\n";
  std::ifstream file;
  std::uintmax_t length = request.body.size();
  if (!request.body_file.empty()) {
    std::error_code ec;
    length = std::filesystem::file_size(request.body_file, ec);
    file.open(request.body_file, std::ios::binary);
    if (ec || !file) {
      const int why = ec ? ec.value() : errno;
      co_return failure{(why == EISDIR ? "read " : "open ") + request.body_file + ": " + reason(why)};
    }
  }
  if (request.method != "GET" || length != 0)
    head += "Content-Length: " + std::to_string(length) + "\r\n";
  const auto broken = [](const std::string& text) { return text.find_first_of("\r\n") != text.npos; };
  if (target.find_first_of(" \r\n") != target.npos || broken(target_.token) || broken(request.idempotency_key))
    co_return failure{"a line break in the token or the idempotency key, or a blank in the path"};
  head += "\r\n";

  if (!stream_) {
    const auto limit = request.limit.count() == 0 ? connect_limit : std::min(request.limit, connect_limit);
    // Named: g++ 12 destroys a temporary twice that a conditional expression makes within a co_await expression.
    auto tls = where.https ? target_.tls : std::shared_ptr<api_tls>();
    auto opened = co_await open_stream(executor_, where, std::move(tls), limit);
    if (!opened)
      co_return opened.why();
    stream_ = std::move(*opened);
    if (closed_)
      co_return failure{"the connection was closed"};
  }
  sent_ = true;
  stream_->expires_after(request.limit);
  error_code written;
  head += request.body;
  co_await stream_->write(asio::buffer(head), written);
  std::string piece(request.body_file.empty() ? 0 : piece_bytes, '\0');
  while (!written && length != 0 && !request.body_file.empty()) {
    file.read(piece.data(), static_cast<std::streamsize>(std::min<std::uintmax_t>(piece.size(), length)));
    if (file.gcount() == 0)
      co_return failure{"read " + request.body_file + ": it became shorter"};
    length -= static_cast<std::uintmax_t>(file.gcount());
    co_await stream_->write(asio::buffer(piece.data(), static_cast<std::size_t>(file.gcount())), written);
  }
  // A server that answers before it has read everything may have closed its end: look for the answer anyway.
  bool reusable = false;
  auto answer = co_await receive(*stream_, request, reusable);
  if (!answer && written)
    co_return failure{written == boost::beast::error::timeout ? "no answer in time" : written.message()};
  if (!reusable || written)
    stream_.reset();
  co_return answer;
}

} // namespace belay::cli
