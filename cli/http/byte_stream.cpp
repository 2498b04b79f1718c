#include "cli/http/byte_stream.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>

namespace belay::cli {

namespace asio = boost::asio;
using boost::system::error_code;
using milliseconds = std::chrono::milliseconds;

namespace {

template <class Protocol>
using timed_stream = boost::beast::basic_stream<Protocol, asio::any_io_executor>;

template <class Protocol>
void limit_stream(timed_stream<Protocol>& s, milliseconds limit) {
  if (limit > milliseconds::zero())
    s.expires_after(limit);
  else
    s.expires_never();
}

/// @tparam Socket the lowest layer of Stream, or Stream itself
template <class Stream, class Protocol>
class stream_of : public byte_stream {
public:
  template <class... Args>
  explicit stream_of(std::shared_ptr<api_tls> tls, Args&&... args)
      : tls_(std::move(tls)), stream_(std::forward<Args>(args)...) {}

  timed_stream<Protocol>& lowest() { return boost::beast::get_lowest_layer(stream_); }
  Stream& stream() { return stream_; }

  void expires_after(milliseconds limit) override { limit_stream(lowest(), limit); }
  asio::awaitable<std::size_t> read_some(asio::mutable_buffer into, error_code& ec) override {
    return stream_.async_read_some(into, asio::redirect_error(asio::use_awaitable, ec));
  }
  asio::awaitable<void> write(asio::const_buffer all, error_code& ec) override {
    co_await asio::async_write(stream_, all, asio::redirect_error(asio::use_awaitable, ec));
  }
  void close() override { lowest().close(); }

private:
  std::shared_ptr<api_tls> tls_; ///< outlives the stream
  Stream stream_;
};

template <class Protocol>
asio::awaitable<result<std::unique_ptr<byte_stream>>> secured(timed_stream<Protocol> plain, std::string host,
                                                              std::shared_ptr<api_tls> tls, milliseconds limit) {
  using secure_stream = asio::ssl::stream<timed_stream<Protocol>>;
  const auto& settings = tls->settings;
  const auto name = settings.server_name.empty() ? host : settings.server_name;
  auto out = std::make_unique<stream_of<secure_stream, Protocol>>(tls, std::move(plain), tls->context);
  auto& stream = out->stream();
  error_code ec;
  asio::ip::make_address(name, ec);
  if (ec) // RFC 6066: addresses are not sent
    SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
  stream.set_verify_mode(settings.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  if (settings.verify)
    stream.set_verify_callback(asio::ssl::host_name_verification(name));
  out->expires_after(limit);
  ec = {};
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::redirect_error(asio::use_awaitable, ec));
  if (ec) {
    const auto found = SSL_get_verify_result(stream.native_handle());
    co_return failure{"TLS: " + ec.message() +
                      (settings.verify && found != X509_V_OK ? std::string(": ") + X509_verify_cert_error_string(found)
                                                             : std::string())};
  }
  co_return std::unique_ptr<byte_stream>(std::move(out));
}

template <class Protocol>
asio::awaitable<result<std::unique_ptr<byte_stream>>> finished(timed_stream<Protocol> plain, std::string host,
                                                               std::shared_ptr<api_tls> tls, milliseconds limit) {
  if (tls != nullptr)
    co_return co_await secured<Protocol>(std::move(plain), std::move(host), std::move(tls), limit);
  co_return std::unique_ptr<byte_stream>(
      std::make_unique<stream_of<timed_stream<Protocol>, Protocol>>(nullptr, std::move(plain)));
}

} // namespace

asio::awaitable<result<std::unique_ptr<byte_stream>>> open_stream(asio::any_io_executor executor,
                                                                  const api_address& where,
                                                                  std::shared_ptr<api_tls> tls, milliseconds limit) {
  error_code ec;
  const auto no_errors = [&] { return asio::redirect_error(asio::use_awaitable, ec); };
  if (!where.unix_path.empty()) {
    using unix = asio::local::stream_protocol;
    timed_stream<unix> stream(executor);
    limit_stream<unix>(stream, limit);
    co_await stream.async_connect(unix::endpoint(where.unix_path), no_errors());
    if (ec)
      co_return failure{ec.message()};
    co_return co_await finished<unix>(std::move(stream), "localhost", std::move(tls), limit);
  }
  using tcp = asio::ip::tcp;
  tcp::resolver resolver(executor);
  const auto endpoints = co_await resolver.async_resolve(where.host, where.port, no_errors());
  if (ec)
    co_return failure{ec.message()};
  timed_stream<tcp> stream(executor);
  limit_stream<tcp>(stream, limit);
  co_await stream.async_connect(endpoints, no_errors());
  if (ec)
    co_return failure{ec.message()};
  stream.socket().set_option(tcp::no_delay(true), ec);
  co_return co_await finished<tcp>(std::move(stream), where.host, std::move(tls), limit);
}

} // namespace belay::cli
