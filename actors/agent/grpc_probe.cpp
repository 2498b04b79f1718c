// asio_probes: calls grpc.health.v1.Health/Check of a server, over a new connection for each run.

#include "actors/agent/grpc_call.hpp"
#include "actors/agent/network_probe.hpp"
#include "protocol/base/host_port.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <optional>
#include <utility>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::array<unsigned char, 3> protocol_h2{2, 'h', '2'};

/// Runs on the thread that serves clients, like http_probe.
class grpc_probe final : public network_probe {
public:
  grpc_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls, const agent::check_definition& check,
             probe_runner::finished then)
      : network_probe(loop, names, check, std::move(then)), stream_(loop, tls) {
    const auto slash = check_.grpc.find('/');
    server_ = check_.grpc.substr(0, slash);
    if (slash != std::string::npos)
      service_ = check_.grpc.substr(slash + 1);
  }

  void start() override {
    begin_timeout();
    const auto [host, port] = split_host_port(server_);
    host_ = host;
    if (port.value_or("").empty())
      return fail_to_connect("dial tcp: address " + server_ + ": missing port in address");
    look_up(host, *port);
  }

private:
  void connect(const endpoints& list) override {
    asio::async_connect(stream_.next_layer(), list,
                        [this, self = shared_from_this()](error_code e, const tcp::endpoint&) {
                          if (over())
                            return;
                          if (e)
                            return fail_to_connect(dial_error(server_, e));
                          guarded([this] {
                            call_.emplace(grpc_call::question{server_, service_, check_.grpc_use_tls});
                            if (check_.grpc_use_tls)
                              handshake();
                            else
                              go_on();
                          });
                        });
  }

  void handshake() {
    prepare_tls(stream_, host_);
    SSL_set_alpn_protos(stream_.native_handle(), protocol_h2.data(), protocol_h2.size());
    stream_.async_handshake(asio::ssl::stream_base::client, [this, self = shared_from_this()](error_code e) {
      if (over())
        return;
      if (e)
        return fail(grpc_error(grpc_unavailable, "connection error: desc = \"transport: authentication handshake "
                                                 "failed: " +
                                                     e.message() + "\""));
      guarded([this] { go_on(); });
    });
  }

  /// Sends pending output, or waits for input; only one of both at a time.
  void go_on() {
    output_ = call_->take_output();
    if (const auto& outcome = call_->outcome()) {
      if (outcome->empty())
        end("passing", "gRPC check " + check_.grpc + ": success");
      else
        fail(*outcome);
      return;
    }
    if (check_.grpc_use_tls)
      exchange(stream_);
    else
      exchange(stream_.next_layer());
  }

  template <class Stream>
  void exchange(Stream& stream) {
    const auto on_done = [this, self = shared_from_this()](bool was_read, error_code e, std::size_t n) {
      if (over())
        return;
      guarded([&] {
        if (e)
          call_->ended();
        else if (was_read)
          call_->feed({input_.data(), n});
        go_on();
      });
    };
    if (output_.empty())
      stream.async_read_some(asio::buffer(input_), [on_done](error_code e, std::size_t n) { on_done(true, e, n); });
    else
      asio::async_write(stream, asio::buffer(output_),
                        [on_done](error_code e, std::size_t n) { on_done(false, e, n); });
  }

  void on_timeout() override { fail(grpc_error(grpc_deadline_exceeded, "context deadline exceeded")); }

  void fail_to_connect(const std::string& why) override {
    fail(grpc_error(grpc_unavailable, "connection error: desc = \"transport: Error while dialing " + why + "\""));
  }

  void fail(const std::string& why) override { end("critical", why); }

  void close_sockets() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

  tls_stream stream_;
  std::string server_, host_, service_;
  std::optional<grpc_call> call_;
  std::string output_;
  std::array<char, 4096> input_{};
};

} // namespace

std::shared_ptr<running_probe> make_grpc_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls,
                                               const agent::check_definition& check, probe_runner::finished then) {
  return std::make_shared<grpc_probe>(loop, names, tls, check, std::move(then));
}

} // namespace belay::actors
