#include "actors/relay/asio_relay_loop.hpp"

#include "actors/names/peer_sockets.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Needed as between servers: a machine that loses power does not close its connections.
constexpr std::chrono::milliseconds silence_limit{3000};

class asio_relay_socket final : public relay_socket {
public:
  explicit asio_relay_socket(asio::io_context& loop) : socket_(std::make_shared<asio::ip::tcp::socket>(loop)) {}
  ~asio_relay_socket() override { asio_relay_socket::close(); }

  void connect(const socket_endpoint& to, done then) override {
    asio::ip::tcp::endpoint where;
    where.resize(to.size);
    std::copy_n(reinterpret_cast<const char*>(&to.bytes), to.size, reinterpret_cast<char*>(where.data()));
    socket_->async_connect(where, [s = socket_, then = std::move(then)](error_code e) {
      if (!e && s->is_open())
        set_peer_options(s->native_handle(), silence_limit);
      then(e);
    });
  }
  void write(const std::string& bytes, done then) override {
    asio::async_write(*socket_, asio::buffer(bytes),
                      [s = socket_, then = std::move(then)](error_code e, std::size_t) { then(e); });
  }
  void read(std::string& into, transferred then) override {
    socket_->async_read_some(asio::buffer(into),
                             [s = socket_, then = std::move(then)](error_code e, std::size_t n) { then(e, n); });
  }
  void end_output() override {
    error_code ignored;
    socket_->shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }
  void close() override {
    error_code ignored;
    socket_->close(ignored);
  }

private:
  std::shared_ptr<asio::ip::tcp::socket> socket_; ///< also owned by pending operations
};

} // namespace

monotonic_time asio_relay_loop::now() {
  return std::chrono::steady_clock::now();
}

std::unique_ptr<relay_socket> asio_relay_loop::open_socket() {
  return std::make_unique<asio_relay_socket>(loop_);
}

relay_loop::timer asio_relay_loop::after(std::chrono::milliseconds d, std::function<void()> what) {
  const auto t = std::make_shared<asio::steady_timer>(loop_, d);
  t->async_wait([still = std::weak_ptr(t), what = std::move(what)](error_code e) {
    if (!e && !still.expired())
      what();
  });
  return t;
}

void asio_relay_loop::post(std::function<void()> what) {
  asio::post(loop_, std::move(what));
}

} // namespace belay::actors
