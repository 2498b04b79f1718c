// asio_probes: calls grpc.health.v1.Health/Check of a server, over a new connection for each run.

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/grpc_call.hpp"
#include "actors/agent/probe_addresses.hpp"
#include "protocol/base/host_port.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <exception>
#include <optional>
#include <utility>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// As in Consul.
constexpr std::chrono::seconds grpc_timeout{10};
constexpr std::array<unsigned char, 3> protocol_h2{2, 'h', '2'};

/// Runs on the thread that serves clients, like http_probe.
class grpc_probe final : public running_probe, public std::enable_shared_from_this<grpc_probe> {
public:
  grpc_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls, const agent::check_definition& check,
             probe_runner::finished then)
      : addresses_(loop, names), timer_(loop), stream_(loop, tls), check_(check), then_(std::move(then)) {
    const auto slash = check_.grpc.find('/');
    server_ = check_.grpc.substr(0, slash);
    if (slash != std::string::npos)
      service_ = check_.grpc.substr(slash + 1);
    timeout_ = check.timeout_ns > 0 ? std::chrono::nanoseconds(check.timeout_ns) : grpc_timeout;
  }

  void start() override {
    timer_.expires_after(timeout_);
    timer_.async_wait([self = shared_from_this()](error_code e) {
      if (!e)
        self->fail(grpc_error(grpc_deadline_exceeded, "context deadline exceeded"));
    });
    const auto [host, port] = split_host_port(server_);
    host_ = host;
    if (port.value_or("").empty())
      return fail_to_connect("dial tcp: address " + server_ + ": missing port in address");
    addresses_.find(host, *port, [weak = weak_from_this()](const auto& list, const std::string& why) {
      const auto self = weak.lock();
      if (!self || !self->then_)
        return;
      if (!why.empty())
        return self->fail_to_connect("dial tcp: " + why);
      self->guarded([&] { self->connect(list); });
    });
  }

  void abandon() override {
    then_ = nullptr;
    close();
  }

private:
  template <class F>
  void guarded(F&& step) {
    try {
      step();
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }

  void connect(const probe_addresses::endpoints& list) {
    asio::async_connect(stream_.next_layer(), list, [self = shared_from_this()](error_code e, const tcp::endpoint&) {
      if (!self->then_)
        return;
      if (e)
        return self->fail_to_connect(dial_error(self->server_, e));
      self->guarded([&] {
        self->call_.emplace(grpc_call::question{self->server_, self->service_, self->check_.grpc_use_tls});
        if (self->check_.grpc_use_tls)
          self->handshake();
        else
          self->go_on();
      });
    });
  }

  void handshake() {
    error_code ignored;
    const bool verify = !check_.tls_skip_verify;
    stream_.set_verify_mode(verify ? asio::ssl::verify_peer : asio::ssl::verify_none, ignored);
    if (verify)
      stream_.set_verify_callback(asio::ssl::host_name_verification(host_), ignored);
    SSL_set_tlsext_host_name(stream_.native_handle(), host_.c_str());
    SSL_set_alpn_protos(stream_.native_handle(), protocol_h2.data(), protocol_h2.size());
    stream_.async_handshake(asio::ssl::stream_base::client, [self = shared_from_this()](error_code e) {
      if (!self->then_)
        return;
      if (e)
        return self->fail(grpc_error(grpc_unavailable, "connection error: desc = \"transport: authentication handshake "
                                                       "failed: " +
                                                           e.message() + "\""));
      self->guarded([&] { self->go_on(); });
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
    const auto on_done = [self = shared_from_this()](bool was_read, error_code e, std::size_t n) {
      if (!self->then_)
        return;
      self->guarded([&] {
        if (e)
          self->call_->ended();
        else if (was_read)
          self->call_->feed({self->input_.data(), n});
        self->go_on();
      });
    };
    if (output_.empty())
      stream.async_read_some(asio::buffer(input_), [on_done](error_code e, std::size_t n) { on_done(true, e, n); });
    else
      asio::async_write(stream, asio::buffer(output_),
                        [on_done](error_code e, std::size_t n) { on_done(false, e, n); });
  }

  void fail_to_connect(const std::string& why) {
    fail(grpc_error(grpc_unavailable, "connection error: desc = \"transport: Error while dialing " + why + "\""));
  }
  void fail(std::string why) { end("critical", std::move(why)); }

  void end(std::string status, std::string output) {
    auto then = std::exchange(then_, nullptr);
    close();
    if (then)
      then(std::move(status), std::move(output));
  }

  void close() {
    error_code ignored;
    addresses_.cancel();
    timer_.cancel();
    stream_.next_layer().close(ignored);
  }

  probe_addresses addresses_;
  asio::steady_timer timer_;
  asio::ssl::stream<tcp::socket> stream_;
  agent::check_definition check_;
  std::string server_, host_, service_;
  std::chrono::nanoseconds timeout_;
  std::optional<grpc_call> call_;
  std::string output_;
  std::array<char, 4096> input_{};
  probe_runner::finished then_;
};

} // namespace

std::shared_ptr<running_probe> make_grpc_probe(asio::io_context& loop, name_lookups& names, asio::ssl::context& tls,
                                               const agent::check_definition& check, probe_runner::finished then) {
  return std::make_shared<grpc_probe>(loop, names, tls, check, std::move(then));
}

} // namespace belay::actors
