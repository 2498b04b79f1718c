#include "client/asio/byte_stream.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay {
inline namespace v0 {
namespace detail {

namespace {

using socket_type = asio::generic::stream_protocol::socket;

/// Asio would open the socket without FD_CLOEXEC.
error_code open(socket_type& socket, const byte_stream::endpoint& to) {
  int family = to.protocol().family();
  int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return error_code(errno, boost::system::system_category());
  int on = 1;
  if (family != AF_UNIX) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // A machine without power closes no connections. Some requests have no deadline, such as the
    // download of a snapshot: they end after 75 s of silence instead of the kernel's two hours.
    int idle_seconds = 15, probe_seconds = 15, probes = 4;
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  }
  error_code failed;
  socket.assign(to.protocol(), fd, failed);
  if (failed)
    ::close(fd);
  return failed;
}

bool is_quiet(socket_type& socket) {
  char c = 0;
  auto n = ::recv(socket.native_handle(), &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/// `connected` is also called if the socket cannot be opened.
void begin_connect(asio::io_context& loop, socket_type& socket, const byte_stream::endpoint& to,
                   byte_stream::ready connected) {
  if (auto failed = open(socket, to)) {
    asio::post(loop, [failed, connected = std::move(connected)] { connected(failed); });
    return;
  }
  socket.async_connect(to, std::move(connected));
}

class plain final : public byte_stream {
public:
  explicit plain(asio::io_context& loop) : loop_(loop), socket_(loop) {}

  void connect(const endpoint& to, ready done) override { begin_connect(loop_, socket_, to, std::move(done)); }
  /// Usually the request fits into the socket's buffer: no wait, and no handler on the loop.
  void write(const std::string& text, moved done) override {
    auto n = ::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    auto sent = n < 0 ? 0 : static_cast<std::size_t>(n); // the next call reports the error
    if (sent == text.size())
      done({}, sent);
    else
      asio::async_write(socket_, asio::buffer(text) + sent, std::move(done));
  }
  void read(char* into, std::size_t size, moved done) override {
    socket_.async_read_some(asio::buffer(into, size), std::move(done));
  }
  void close() noexcept override {
    error_code ignored;
    socket_.close(ignored);
  }
  bool quiet() override { return is_quiet(socket_); }

private:
  asio::io_context& loop_;
  socket_type socket_;
};

class encrypted final : public byte_stream {
public:
  encrypted(asio::io_context& loop, asio::ssl::context& with, const std::string& host)
      : loop_(loop), stream_(loop, with), host_(host) {}

  void connect(const endpoint& to, ready done) override {
    begin_connect(loop_, stream_.next_layer(), to, [this, done = std::move(done)](error_code failed) {
      if (failed) {
        done(failed);
        return;
      }
      shakes_hands_ = true;
      // SNI takes host names, not addresses.
      error_code ignored;
      asio::ip::make_address(host_, ignored);
      if (ignored)
        SSL_set_tlsext_host_name(stream_.native_handle(), host_.c_str());
      error_code no_name;
      stream_.set_verify_callback(asio::ssl::host_name_verification(host_), no_name);
      stream_.async_handshake(asio::ssl::stream_base::client, done);
    });
  }
  void write(const std::string& text, moved done) override {
    asio::async_write(stream_, asio::buffer(text), std::move(done));
  }
  void read(char* into, std::size_t size, moved done) override {
    stream_.async_read_some(asio::buffer(into, size), std::move(done));
  }
  void close() noexcept override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }
  bool quiet() override { return is_quiet(stream_.next_layer()); }
  std::string explain(const error_code& failed) override {
    auto found = SSL_get_verify_result(stream_.native_handle());
    if (!shakes_hands_)
      return failed.message();
    return "TLS: " + failed.message() +
           (found == X509_V_OK ? "" : std::string(": ") + X509_verify_cert_error_string(found));
  }

private:
  asio::io_context& loop_;
  asio::ssl::stream<socket_type> stream_;
  std::string host_;
  bool shakes_hands_ = false;
};

} // namespace

std::unique_ptr<byte_stream> plain_stream(asio::io_context& loop) {
  return std::make_unique<plain>(loop);
}

std::unique_ptr<byte_stream> tls_stream(asio::io_context& loop, asio::ssl::context& with, const std::string& host) {
  return std::make_unique<encrypted>(loop, with, host);
}

result<std::shared_ptr<asio::ssl::context>> tls_context(const transport_options& options) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code failed;
  std::string what;
  auto tried = [&](const std::string& name) {
    if (failed && what.empty())
      what = name + ": " + failed.message();
  };
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  if (options.ca_file.empty())
    context->set_default_verify_paths(failed);
  else
    context->load_verify_file(options.ca_file, failed);
  tried(options.ca_file);
  if (!options.cert_file.empty()) {
    context->use_certificate_chain_file(options.cert_file, failed);
    tried(options.cert_file);
    auto key = options.key_file.empty() ? options.cert_file : options.key_file;
    context->use_private_key_file(key, asio::ssl::context::pem, failed);
    tried(key);
  }
  context->set_verify_mode(options.verify_server ? asio::ssl::verify_peer : asio::ssl::verify_none, failed);
  if (!what.empty())
    return error(outcome::refused, reason::invalid, what);
  return context;
}

} // namespace detail
} // namespace v0
} // namespace belay
