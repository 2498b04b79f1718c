#pragma once
// What the probes of TCP, HTTP and gRPC share. For their sources only.

#include "actors/agent/asio_probes.hpp"
#include "actors/agent/probe_addresses.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include <exception>
#include <utility>

namespace belay::actors {

/// A probe that connects to a server, with a limit of its time.
class network_probe : public running_probe, public std::enable_shared_from_this<network_probe> {
public:
  void abandon() final {
    then_ = nullptr;
    close();
  }

protected:
  using endpoints = probe_addresses::endpoints;
  using error_code = boost::system::error_code;
  using tls_stream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket>;

  network_probe(boost::asio::io_context& loop, name_lookups& names, const agent::check_definition& check,
                probe_runner::finished then)
      : check_(check), addresses_(loop, names), timer_(loop), then_(std::move(then)) {}

  virtual void on_timeout() = 0;
  /// The addresses of a lookup.
  virtual void connect(const endpoints& list) = 0;
  virtual void fail(const std::string& why) = 0;
  /// @param why in the words of Go's dialler
  virtual void fail_to_connect(const std::string& why) { fail(why); }
  virtual void close_sockets() = 0;

  /// Whether it has a result, or was abandoned.
  bool over() const { return !then_; }

  void begin_timeout() {
    constexpr std::chrono::seconds usual{10}; // as in Consul
    timer_.expires_after(check_.timeout_ns > 0 ? std::chrono::nanoseconds(check_.timeout_ns) : usual);
    timer_.async_wait([this, self = shared_from_this()](error_code e) {
      if (!e && !over())
        guarded([this] { on_timeout(); });
    });
  }

  /// Calls connect() or fail_to_connect().
  void look_up(const std::string& host, const std::string& port) {
    addresses_.find(host, port, [this, weak = weak_from_this()](const auto& list, const std::string& why) {
      const auto self = weak.lock();
      if (!self || over())
        return;
      if (!why.empty())
        return fail_to_connect("dial tcp: " + why);
      guarded([&] { connect(list); });
    });
  }

  void prepare_tls(tls_stream& stream, const std::string& host) const {
    error_code ignored;
    const bool verify = !check_.tls_skip_verify;
    stream.set_verify_mode(verify ? boost::asio::ssl::verify_peer : boost::asio::ssl::verify_none, ignored);
    if (verify)
      stream.set_verify_callback(boost::asio::ssl::host_name_verification(host), ignored);
    SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  }

  /// Everything runs on the thread that serves clients, where an exception would end the node. An
  /// exception of a library about the request or the response becomes the result of the check.
  template <class F>
  void guarded(F&& step) {
    try {
      step();
    } catch (const std::exception& e) {
      fail(e.what());
    }
  }

  void end(std::string status, std::string output) {
    auto then = std::exchange(then_, nullptr);
    close();
    if (then)
      then(std::move(status), std::move(output));
  }

  const agent::check_definition check_;

private:
  void close() {
    addresses_.cancel();
    timer_.cancel();
    close_sockets();
  }

  probe_addresses addresses_;
  boost::asio::steady_timer timer_;
  probe_runner::finished then_;
};

} // namespace belay::actors
