#pragma once
// The bytes of a connection: TCP, a Unix socket, or TLS. Sockets are closed in children that exec.

#include "client/asio/transport_options.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace belay {
inline namespace v0 {
namespace detail {

namespace asio = boost::asio;
using boost::system::error_code;

class byte_stream {
public:
  using moved = std::function<void(error_code, std::size_t)>;
  using ready = std::function<void(error_code)>;
  using endpoint = asio::generic::stream_protocol::endpoint;

  virtual ~byte_stream() = default;
  /// Connects, and performs the handshake if there is TLS.
  virtual void connect(const endpoint& to, ready done) = 0;
  /// @param text must not change until `done`, which may be called at once on success
  virtual void write(const std::string& text, moved done) = 0;
  virtual void read(char* into, std::size_t size, moved done) = 0;
  virtual void close() noexcept = 0;
  /// Whether nothing unexpected has arrived, such as the end of the connection.
  virtual bool quiet() = 0;
  /// The meaning of an error of connect(), for people.
  virtual std::string explain(const error_code& failed) { return failed.message(); }
};

std::unique_ptr<byte_stream> plain_stream(asio::io_context& loop);
/// @param host the name that its certificate must have
std::unique_ptr<byte_stream> tls_stream(asio::io_context& loop, asio::ssl::context& with, const std::string& host);
/// @returns refused if a file cannot be read
result<std::shared_ptr<asio::ssl::context>> tls_context(const transport_options& options);

} // namespace detail
} // namespace v0
} // namespace belay
