#include "cli/api_client.hpp"

#include "actors/tls/context_files.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/golang/base64.hpp"
#include "protocol/golang/url.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json/parse.hpp>

namespace belay::cli {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

template <class Stream>
result<api_answer> send_and_receive(Stream& stream, const http::request<http::string_body>& request) {
  boost::system::error_code ec;
  http::write(stream, request, ec);
  // A server that answers before it has read everything may have closed its end: look for the answer anyway.
  const auto write_error = ec;
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none); // an export may be of any size
  http::read(stream, buffer, parser, ec);
  if (ec)
    return failure{(write_error ? write_error : ec).message()};
  return api_answer{parser.get().result_int(), std::move(parser.get().body())};
}

} // namespace

class api_tls {
public:
  static result<std::shared_ptr<api_tls>> load(const api_tls_settings& s) {
    auto t = std::make_shared<api_tls>();
    t->settings_ = s;
    auto* const context = t->context_.native_handle();
    boost::system::error_code ignored; // none there: then nobody is trusted, which the handshake tells
    if (s.ca_file.empty() && s.ca_path.empty())
      t->context_.set_default_verify_paths(ignored);
    else if (auto ok = tls::trust_authorities(context, s.ca_file, s.ca_path); !ok)
      return ok.why();
    if (s.cert_file.empty() != s.key_file.empty())
      return failure{s.cert_file.empty() ? "a client key is set, and no client certificate"
                                         : "a client certificate is set, and no client key"};
    if (!s.cert_file.empty())
      if (auto ok = tls::show_certificate(context, s.cert_file, s.key_file); !ok)
        return ok.why();
    return t;
  }

  template <class Socket>
  result<api_answer> ask(Socket& socket, const std::string& host, const http::request<http::string_body>& request) {
    asio::ssl::stream<Socket&> stream(socket, context_);
    const auto& name = settings_.server_name.empty() ? host : settings_.server_name;
    boost::system::error_code ec;
    asio::ip::make_address(name, ec);
    if (ec) // RFC 6066: addresses are not sent
      SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
    stream.set_verify_mode(settings_.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
    if (settings_.verify)
      stream.set_verify_callback(asio::ssl::host_name_verification(name));
    stream.handshake(asio::ssl::stream_base::client, ec);
    if (ec) {
      const auto found = SSL_get_verify_result(stream.native_handle());
      return failure{"TLS: " + ec.message() +
                     (settings_.verify && found != X509_V_OK ? std::string(": ") + X509_verify_cert_error_string(found)
                                                             : std::string())};
    }
    return send_and_receive(stream, request);
  }

private:
  asio::ssl::context context_{asio::ssl::context::tls_client};
  api_tls_settings settings_;
};

result<std::shared_ptr<api_tls>> load_api_tls(const api_tls_settings& s) {
  return api_tls::load(s);
}

result<api_address> parse_api_address(std::string text, bool https) {
  api_address a;
  a.https = https;
  if (text.starts_with("unix://")) {
    a.unix_path = text.substr(7);
    return a;
  }
  if (text.starts_with("https://")) {
    a.https = true;
    text = text.substr(8);
  } else if (text.starts_with("http://"))
    text = text.substr(7);
  else if (auto at = text.find("://"); at != text.npos)
    return failure{"unknown protocol scheme: " + text.substr(0, at)};
  if (auto slash = text.find('/'); slash != text.npos)
    text.resize(slash);
  auto where = split_optional_port(text);
  a.host = where.host.empty() ? "127.0.0.1" : std::move(where.host);
  a.port = where.port.value_or(a.https ? "8501" : "8500");
  return a;
}

api_query& api_query::add(std::string_view name) {
  text_ += (text_.empty() ? "" : "&") + std::string(name);
  return *this;
}

api_query& api_query::add(std::string_view name, std::string_view value) {
  return add(std::string(name) + "=" + golang::escape_query(value));
}

std::string api_answer::complaint() const {
  return "Unexpected response code: " + std::to_string(status) + " (" + body + ")";
}

std::string complaint_about(const result<api_answer>& answer) {
  return !answer ? answer.error() : answer->found() ? std::string() : answer->complaint();
}

api_client::api_client(api_address where, std::string token, std::string basic_auth, std::shared_ptr<api_tls> tls)
    : where_(std::move(where)), token_(std::move(token)), basic_auth_(std::move(basic_auth)), tls_(std::move(tls)) {
  PRECONDITION(!where_.https || tls_ != nullptr);
}

result<api_answer> api_client::ask(std::string_view method, const std::string& path, const api_query& query,
                                   const std::string& body) const {
  auto target = path + (query.text().empty() ? "" : "?" + query.text());
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, where_.unix_path.empty() ? join_host_port(where_.host, where_.port) : "localhost");
  request.set(http::field::connection, "close");
  if (!token_.empty())
    request.set("X-Consul-Token", token_);
  if (!basic_auth_.empty())
    request.set(http::field::authorization, "Basic " + golang::base64(basic_auth_));
  request.body() = body;
  if (method != "GET" || !body.empty())
    request.content_length(body.size());

  asio::io_context loop;
  boost::system::error_code ec;
  const auto failed = [&](const std::string& what) {
    return failure{std::string(method) + (where_.https ? " https://" : " http://") +
                   (where_.unix_path.empty() ? join_host_port(where_.host, where_.port) : where_.unix_path) + target +
                   ": " + what};
  };
  result<api_answer> answer = failure{};
  if (!where_.unix_path.empty()) {
    asio::local::stream_protocol::socket socket(loop);
    socket.connect(asio::local::stream_protocol::endpoint(where_.unix_path), ec);
    if (ec)
      return failed(ec.message());
    answer = where_.https ? tls_->ask(socket, "localhost", request) : send_and_receive(socket, request);
  } else {
    asio::ip::tcp::resolver resolver(loop);
    auto endpoints = resolver.resolve(where_.host, where_.port, ec);
    if (ec)
      return failed(ec.message());
    asio::ip::tcp::socket socket(loop);
    asio::connect(socket, endpoints, ec);
    if (ec)
      return failed(ec.message());
    answer = where_.https ? tls_->ask(socket, where_.host, request) : send_and_receive(socket, request);
  }
  if (!answer)
    return failed(answer.error());
  return answer;
}

result<boost::json::value> api_client::get_json(const std::string& path, const api_query& query) const {
  auto answer = ask("GET", path, query);
  if (!answer)
    return answer.why();
  if (!answer->found())
    return failure{answer->complaint()};
  boost::system::error_code ec;
  auto v = boost::json::parse(answer->body, ec);
  if (ec)
    return failure{"the answer is not JSON: " + ec.message()};
  return v;
}

} // namespace belay::cli
