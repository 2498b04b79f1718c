// asio_probes: GET (or another method) of a URL, following redirects as Go's client does.

#include "actors/agent/network_probe.hpp"
#include "actors/end_of_head.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/go_compat/url.hpp"
#include "protocol/http/network.hpp"

#include <boost/asio/connect.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int redirects_max = 10; // as in Go
constexpr auto out_of_time = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
constexpr std::size_t http_output_bytes = 4096;
// The rest of a longer body is not read. Only the part that is shown needs memory.
constexpr std::size_t body_bytes_max = 16u << 20;
// Go allows 10 MiB. Received bytes are searched with each piece, so a limit also bounds the time.
constexpr std::size_t head_bytes_max = 1u << 20;
constexpr std::size_t reason_bytes_max = 1000;
constexpr std::size_t field_bytes_max = 65'000;
constexpr std::size_t piece_bytes = 8192;
// Beast keeps the line of a chunk and trailers until they are complete. Go allows 4 KiB for each.
constexpr std::size_t unparsed_bytes_max = 64u << 10;

/// The head as Beast's parser expects it: CR LF after each line, and a space after the code of the
/// status line.
std::string answer_head(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 2);
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    auto line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (!out.empty() && line.size() > field_bytes_max)
      continue; // too long for Beast, and no such field is needed
    const bool no_reason = out.empty() && std::count(line.begin(), line.end(), ' ') == 1;
    out.append(line).append(no_reason ? " \r\n" : "\r\n");
  }
  return out;
}

struct url {
  bool tls = false;
  std::string authority, host, port, target;
  std::string login; ///< user:password, decoded; never part of `authority`

  bool same_server(const url& other) const {
    return tls == other.tls && port == other.port && equal_ignoring_case(host, other.host);
  }
};

/// Begin and end of the authority of a URL; nullopt: it has no scheme.
std::optional<std::pair<std::size_t, std::size_t>> authority_in(std::string_view text) {
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos)
    return std::nullopt;
  return std::pair(scheme + 3, std::min(text.find_first_of("/?#", scheme + 3), text.size()));
}

/// The URL as Go shows it, without the password.
std::string shown_url(const std::string& text) {
  const auto authority = authority_in(text);
  if (!authority)
    return text;
  const auto [begin, end] = *authority;
  const auto at = text.substr(0, end).rfind('@');
  const auto colon = text.find(':', begin);
  if (at == std::string::npos || at < begin || colon > at)
    return text;
  return text.substr(0, colon + 1) + "***" + text.substr(at);
}

/// Decodes the login in a URL (RFC 7617). @returns false: an escape is malformed
bool read_login(std::string_view escaped, std::string& out) {
  const auto colon = std::min(escaped.find(':'), escaped.size());
  std::string user, password;
  if (!go_compat::decode_path(escaped.substr(0, colon), user) ||
      !go_compat::decode_path(escaped.substr(std::min(colon + 1, escaped.size())), password))
    return false;
  out = user + ":" + password;
  return true;
}

/// A space would end the target in the request line; it and other bytes are sent as %XX, as by Go.
std::string escaped_target(const std::string& target) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(target.size());
  for (const char c : target) {
    if (c > ' ' && c < '\x7f') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 0xf]};
  }
  return out;
}

std::optional<url> parse_url(const std::string& text) {
  url u;
  const auto scheme = text.find("://");
  if (scheme == std::string::npos)
    return std::nullopt;
  const auto name = go_compat::lower_case(text.substr(0, scheme));
  if (name != "http" && name != "https")
    return std::nullopt;
  u.tls = name == "https";
  const auto rest = text.substr(scheme + 3);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  u.authority = rest.substr(0, end);
  if (const auto at = u.authority.rfind('@'); at != std::string::npos) {
    if (!read_login(u.authority.substr(0, at), u.login))
      return std::nullopt;
    u.authority.erase(0, at + 1);
  }
  u.target = rest.substr(end, rest.find('#') == std::string::npos ? std::string::npos : rest.find('#') - end);
  if (u.target.empty() || u.target.front() != '/')
    u.target.insert(0, "/");
  const auto where = split_host_port(u.authority);
  u.host = where.host;
  u.port = where.port.value_or("");
  if (u.port.empty())
    u.port = u.tls ? "443" : "80";
  const auto names_a_host = [](char c) { return c > ' ' && c < '\x7f'; };
  if (u.host.empty() || !std::all_of(u.authority.begin(), u.authority.end(), names_a_host))
    return std::nullopt;
  u.target = escaped_target(u.target);
  return u;
}

std::string go_method(std::string_view method) { // as Go names it in errors: Get, Post
  auto name = go_compat::lower_case(method);
  if (!name.empty() && name.front() >= 'a' && name.front() <= 'z')
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

/// Fields for the server that the check names only (Go's shouldCopyHeaderOnRedirect).
bool is_credential(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"Authorization", "Www-Authenticate", "Cookie", "Cookie2", "Proxy-Authorization"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return equal_ignoring_case(n, name); });
}

/// Fields that frame the request: set by this client, as by Go's.
bool is_framing(std::string_view name) {
  return equal_ignoring_case(name, "Content-Length") || equal_ignoring_case(name, "Transfer-Encoding") ||
         equal_ignoring_case(name, "Trailer");
}

class http_probe final : public network_probe {
public:
  http_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls, http_networks_ptr allowed,
             const agent::check_definition& check, probe_runner::finished then)
      : network_probe(loop, names, check, std::move(then)), loop_(loop), tls_(tls), allowed_(std::move(allowed)),
        url_text_(check.http) {
    method_ = first_method_ = check.method.empty() ? "GET" : check.method;
  }

  void start() override {
    begin_timeout();
    guarded([this] { request(); });
  }

private:
  void on_timeout() override {
    late_ = true;
    if (parser_ && parser_->is_header_done()) // as in Consul, the status has arrived
      return on_answer();
    fail(out_of_time);
  }

  void request() {
    parser_.reset();
    const auto parsed = parse_url(url_text_);
    if (!parsed)
      return fail("unsupported protocol scheme \"" +
                  url_text_.substr(0, std::min(url_text_.find(':'), url_text_.size())) + "\"");
    if (redirects_ > 0 && !url_.same_server(*parsed))
      elsewhere_ = true; // and stays so for later redirects: CVE-2024-45336
    url_ = *parsed;
    socket_.reset();
    stream_.reset();
    if (url_.tls)
      stream_.emplace(loop_, tls_);
    else
      socket_.emplace(loop_);
    look_up(url_.host, url_.port);
  }

  /// Checked each time: a redirect may lead elsewhere, and a name may have other addresses now.
  void connect(const endpoints& found) override {
    auto list = found;
    if (allowed_ != nullptr)
      std::erase_if(list, [this](const tcp::endpoint& at) {
        const auto address = at.address().to_string();
        return std::none_of(allowed_->begin(), allowed_->end(),
                            [&](const std::string& network) { return http::network_contains(network, address); });
      });
    if (list.empty())
      return fail("dial tcp " + join_host_port(url_.host, url_.port) +
                  ": connect: the address is in no network of check_http_allow");
    asio::async_connect(lowest(), list, [this, self = shared_from_this()](error_code e, const tcp::endpoint& at) {
      if (over())
        return;
      if (e)
        return fail(dial_error(shown_address(at), e));
      guarded([this] {
        if (url_.tls)
          handshake();
        else
          write(*socket_);
      });
    });
  }

  tcp::socket& lowest() { return url_.tls ? stream_->next_layer() : *socket_; }

  std::string shown_address(const tcp::endpoint& at) const {
    const auto host = at.port() != 0 ? at.address().to_string() : url_.host;
    return join_host_port(host, url_.port);
  }

  void handshake() {
    prepare_tls(*stream_, url_.host);
    stream_->async_handshake(asio::ssl::stream_base::client, [this, self = shared_from_this()](error_code e) {
      if (over())
        return;
      if (e)
        fail("x509: " + e.message());
      else
        guarded([this] { write(*stream_); });
    });
  }

  void fill_request() {
    request_ = {};
    request_.version(11);
    request_.method_string(method_);
    request_.target(url_.target);
    request_.set(beast::http::field::host, url_.authority);
    request_.set(beast::http::field::user_agent, "Consul Health Check");
    request_.set(beast::http::field::accept, "text/plain, text/*, */*");
    request_.set(beast::http::field::connection, "close");
    for (const auto& [name, values] : check_.header) {
      const bool dropped = (elsewhere_ && is_credential(name)) || (host_dropped_ && equal_ignoring_case(name, "Host"));
      if (is_framing(name) || dropped)
        continue;
      request_.erase(name);
      for (const auto& value : values)
        request_.insert(name, value);
    }
    if (!url_.login.empty() && request_.find(beast::http::field::authorization) == request_.end())
      request_.set(beast::http::field::authorization, "Basic " + go_compat::base64(url_.login));
    if (!body_dropped_)
      request_.body() = check_.body;
    request_.prepare_payload();
  }

  template <class Stream>
  void write(Stream& stream) {
    fill_request();
    beast::http::async_write(stream, request_, [this, self = shared_from_this(), &stream](error_code e, std::size_t) {
      if (over())
        return;
      if (e)
        return fail("write: " + e.message());
      guarded([&] { read(stream); });
    });
  }

  template <class Stream>
  void read(Stream& stream) {
    begin_answer();
    received_.clear();
    read_more(stream);
  }

  void begin_answer() {
    parser_.emplace();
    parser_->eager(true);
    parser_->body_limit(boost::none);
    parser_->header_limit(std::numeric_limits<std::uint32_t>::max()); // counted here, in received bytes
    if (method_ == "HEAD")
      parser_->skip(true);
    body_.clear();
    body_bytes_ = 0;
  }

  template <class Stream>
  void read_more(Stream& stream) {
    stream.async_read_some(asio::buffer(piece_),
                           [this, self = shared_from_this(), &stream](error_code e, std::size_t n) {
                             if (over())
                               return;
                             guarded([&] {
                               received_.append(piece_.data(), n);
                               if (take(e))
                                 read_more(stream);
                             });
                           });
  }

  /// Parses received bytes. Accepts what Go's client accepts: lines that end in LF alone, a status
  /// line without a reason, 1xx responses before the final one, and a truncated or endless body.
  /// @param e set if the connection has ended or failed @returns true: read more; false: the check
  /// has its result, or another request has begun
  bool take(error_code e) {
    if (!parser_->is_header_done()) {
      const auto end = end_of_head(received_, std::exchange(searched_, received_.size()));
      if (!end && !e && received_.size() <= head_bytes_max)
        return true;
      if (!end) {
        fail(!e ? "net/http: server response headers exceeded " + std::to_string(head_bytes_max) + " bytes; aborted"
             : e == asio::error::eof ? "EOF"
                                     : e.message());
        return false;
      }
      const auto head = answer_head(std::string_view(received_).substr(0, *end));
      received_.erase(0, *end);
      searched_ = 0;
      error_code wrong;
      parser_->put(asio::buffer(head), wrong);
      if (wrong && wrong != beast::http::error::need_more) {
        fail("net/http: malformed HTTP response: " + wrong.message());
        return false;
      }
      constexpr unsigned switching_protocols = 101;
      const auto code = parser_->get().result_int();
      if (code < 200 && code != switching_protocols) {
        begin_answer();
        return take(e);
      }
    }
    return take_body(e);
  }

  bool take_body(error_code e) {
    error_code wrong;
    std::size_t used = 0;
    while (used < received_.size() && !parser_->is_done() && !wrong) {
      const auto left = std::string_view(received_).substr(used);
      const auto n = parser_->put(asio::buffer(left.data(), left.size()), wrong);
      auto& piece = parser_->get().body();
      body_.append(static_cast<const char*>(piece.data().data()), piece.size());
      body_bytes_ += piece.size();
      piece.clear();
      used += n;
      if (n == 0)
        break;
    }
    received_.erase(0, used);
    if (body_.size() > output_limit()) // Consul's ring buffer keeps the end
      body_.erase(0, body_.size() - output_limit());
    const bool broken = (wrong && wrong != beast::http::error::need_more) || received_.size() > unparsed_bytes_max;
    if (!e && !broken && !parser_->is_done() && body_bytes_ <= body_bytes_max)
      return true;
    on_answer();
    return false;
  }

  std::size_t output_limit() const {
    return check_.output_bytes_max > 0 ? static_cast<std::size_t>(check_.output_bytes_max) : http_output_bytes;
  }

  /// A body that is too long, or ends before its length, still has a status.
  void on_answer() {
    const auto& answer = parser_->get();
    const auto code = answer.result_int();
    const auto location = answer[beast::http::field::location];
    const bool redirect = (code >= 301 && code <= 303) || code == 307 || code == 308;
    if (redirect && !location.empty()) // a read of this response may be pending if the time is over
      return late_ ? fail(out_of_time) : follow(code, std::string(location));
    auto reason = std::string(answer.reason());
    reason.resize(std::min(reason.size(), reason_bytes_max));
    if (reason.empty())
      reason = std::string(beast::http::obsolete_reason(answer.result()));
    const char* status = code >= 200 && code <= 299 ? "passing" : code == 429 ? "warning" : "critical";
    end(status, "HTTP " + first_method_ + " " + shown_url(check_.http) + ": " + std::to_string(code) + " " + reason +
                    " Output: " + body_);
  }

  void follow(unsigned code, const std::string& location) {
    if (++redirects_ > redirects_max)
      return fail("stopped after 10 redirects");
    const std::string scheme = url_.tls ? "https://" : "http://";
    const auto [begin, finish] = authority_in(url_text_).value();
    const auto authority =
        url_text_.substr(begin, finish - begin); // a relative reference keeps the login (RFC 3986, 5.3)
    if (names_scheme(location)) {
      url_text_ = location;
      host_dropped_ = true; // the configured virtual host no longer applies
    } else if (location.compare(0, 2, "//") == 0)
      url_text_ = scheme.substr(0, scheme.size() - 2) + location;
    else if (location.front() == '/')
      url_text_ = scheme + authority + location;
    else
      url_text_ = scheme + authority + url_.target.substr(0, url_.target.rfind('/') + 1) + location;
    if (code <= 303) {
      body_dropped_ = true;
      if (method_ != "HEAD")
        method_ = "GET";
    }
    request();
  }

  /// Whether it is a complete URL, not a path with one in its query.
  static bool names_scheme(std::string_view location) {
    const auto colon = location.find(':');
    return colon != std::string_view::npos && colon < location.find_first_of("/?#") &&
           location.substr(colon, 3) == "://";
  }

  void fail(const std::string& why) override {
    end("critical", go_method(first_method_) + " \"" + shown_url(url_text_) + "\": " + why);
  }

  void close_sockets() override {
    error_code ignored;
    if (socket_)
      socket_->close(ignored);
    if (stream_)
      stream_->next_layer().close(ignored);
  }

  asio::io_context& loop_;
  asio::ssl::context& tls_;
  http_networks_ptr allowed_; ///< null: all
  std::optional<tcp::socket> socket_;
  std::optional<tls_stream> stream_;
  std::string url_text_, method_, first_method_;
  url url_;
  bool elsewhere_ = false;    ///< a redirect has left the server of the check
  bool host_dropped_ = false; ///< a redirect was a complete URL
  bool body_dropped_ = false;
  int redirects_ = 0;
  bool late_ = false; ///< the timeout is over
  beast::http::request<beast::http::string_body> request_;
  std::array<char, piece_bytes> piece_;
  std::string received_;     ///< and not parsed
  std::size_t searched_ = 0; ///< bytes of received_ that have no end of a head
  /// A body that reserves no memory for a length that the server merely claims.
  std::optional<beast::http::response_parser<beast::http::basic_dynamic_body<beast::flat_buffer>>> parser_;
  std::string body_; ///< its end
  std::size_t body_bytes_ = 0;
};

} // namespace

std::shared_ptr<running_probe> make_http_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls,
                                               http_networks_ptr allowed, const agent::check_definition& check,
                                               probe_runner::finished then) {
  return std::make_shared<http_probe>(loop, names, tls, std::move(allowed), check, std::move(then));
}

} // namespace belay::actors
