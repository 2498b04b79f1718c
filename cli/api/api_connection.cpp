#include "cli/api/api_connection.hpp"

#include "cli/api/awaited.hpp"
#include "cli/output/private_file.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>

namespace belay::cli {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds connect_limit{10}; // a lost SYN is sent again after 1, 3 and 7 s

bool has_break(const std::string& text) {
  return text.find_first_of("\r\n") != text.npos;
}

/// Makes a file the body of a request.
/// @returns why the file cannot be opened; empty: success
std::string send_file(const std::string& path, v0::detail::streamed_bodies& bodies) {
  std::error_code ec;
  bodies.length = std::filesystem::file_size(path, ec);
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (const int why = ec ? ec.value() : *file ? 0 : errno; why != 0)
    return (why == EISDIR ? "read " : "open ") + path + ": " + reason(why);
  bodies.source = [file](char* into, std::size_t size) {
    file->read(into, static_cast<std::streamsize>(size));
    return static_cast<std::size_t>(file->gcount());
  };
  bodies.complaint = "read " + path + ": the file became shorter while it was sent";
  return {};
}

} // namespace

std::string unexpected_response(std::uint64_t status, std::string_view text) {
  return "Unexpected response code: " + std::to_string(status) + " (" + std::string(text) + ")";
}

std::string api_answer::header(const std::string& name) const {
  return std::string(whole.header(name));
}

std::optional<std::uint64_t> api_answer::number(const std::string& name) const {
  return go_compat::parse_uint(header(name));
}

std::string api_answer::complaint() const {
  return unexpected_response(status, body);
}

std::string complaint_about(const api_target& target, const v0::request& q, const v0::answer& a) {
  if (!a.received())
    return q.method() + " " + target.where.text() + q.target() + ": " + a.body();
  if (a.status() != 200)
    return unexpected_response(static_cast<std::uint64_t>(a.status()), a.body());
  return {};
}

std::string complaint_about(const result<api_answer>& answer) {
  return !answer ? answer.error() : answer->found() ? std::string() : answer->complaint();
}

v0::detail::transport_options transport_of(const api_target& target, std::string scope) {
  PRECONDITION(!target.where.https || target.tls != nullptr);
  const auto& where = target.where;
  v0::detail::server_address to;
  to.tls = where.https;
  to.unix_socket = !where.unix_path.empty();
  to.host = to.unix_socket ? where.unix_path : where.host;
  to.host_header = to.unix_socket ? "localhost" : join_host_port(where.host, where.port);
  std::from_chars(where.port.data(), where.port.data() + where.port.size(), to.port);
  v0::detail::transport_options o;
  o.addresses = {to};
  o.token = target.token;
  o.basic_auth = target.basic_auth;
  o.scope = std::move(scope);
  o.tls = target.tls;
  o.server_name = target.server_name;
  o.answer_bytes_max = std::numeric_limits<std::size_t>::max(); // an export may be of any size
  o.connect_within = connect_limit;
  o.names_server = false;
  return o;
}

api_connection::api_connection(asio::io_context& loop, api_target target)
    : target_(std::move(target)), sockets_(loop, transport_of(target_)) {}

api_connection::~api_connection() = default;

asio::awaitable<result<api_answer>> api_connection::ask(api_request request) {
  const auto target = request.path + (request.query.text().empty() ? "" : "?" + request.query.text());
  v0::request q(request.method, target);
  api_answer out;
  if (target.find_first_of(" \r\n") != target.npos || has_break(target_.token) || has_break(request.idempotency_key)) {
    out.whole = v0::answer::none(false, "the token or the idempotency key has a line break, or the path a blank");
  } else {
    q.body(std::move(request.body));
    if (!request.idempotency_key.empty())
      q.header("Idempotency-Key", request.idempotency_key);
    if (request.last)
      q.header("Connection", "close");
    auto asking = exchange(q, request, out.body);
    out.whole = co_await awaited(std::move(asking));
  }
  if (!out.whole.received())
    co_return failure{complaint_about(target_, q, out.whole)};
  out.status = static_cast<unsigned>(out.whole.status());
  if (!out.found())
    out.body = out.whole.body();
  co_return out;
}

v0::task<v0::answer> api_connection::exchange(const v0::request& q, const api_request& request, std::string& body) {
  v0::detail::streamed_bodies bodies;
  bodies.sink = request.sink;
  if (!bodies.sink)
    bodies.sink = [&body](std::string_view piece) {
      body += piece;
      return true;
    };
  if (!request.body_file.empty()) {
    if (auto why = send_file(request.body_file, bodies); !why.empty()) {
      co_return v0::answer::none(false, std::move(why));
    }
  }
  const std::chrono::milliseconds limit = request.limit.count() == 0 ? for_ever : request.limit;
  auto asking = v0::detail::ask(sockets_, q, sockets_.now() + limit, std::move(bodies), &closed_);
  auto answer = co_await asking;
  co_return answer;
}

} // namespace belay::cli
