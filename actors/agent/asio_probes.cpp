#include "actors/agent/asio_probes.hpp"

#include "actors/agent/network_probe.hpp"
#include "protocol/base/host_port.hpp"

#include <boost/asio/connect.hpp>

namespace belay::actors {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Each check may have another name, and a lookup without a response occupies a thread until
// getaddrinfo() ends.
constexpr std::size_t names_max = 4096, threads_max = 64;

class tcp_probe final : public network_probe {
public:
  tcp_probe(asio::io_context& loop, name_lookups& names, const agent::check_definition& check,
            probe_runner::finished then)
      : network_probe(loop, names, check, std::move(then)), socket_(loop) {}

  void start() override {
    begin_timeout();
    const auto [host, port] = split_host_port(check_.tcp);
    if (port.value_or("").empty())
      return fail("dial tcp: address " + check_.tcp + ": missing port in address");
    look_up(host, *port);
  }

private:
  void connect(const endpoints& list) override {
    asio::async_connect(socket_, list, [this, self = shared_from_this()](error_code failed, const tcp::endpoint&) {
      if (failed)
        fail(dial_error(check_.tcp, failed));
      else
        end("passing", "TCP connect " + check_.tcp + ": Success");
    });
  }

  void on_timeout() override { fail("dial tcp " + check_.tcp + ": i/o timeout"); }

  void fail(const std::string& why) override { end("critical", why); }

  void close_sockets() override {
    error_code ignored;
    socket_.close(ignored);
  }

  tcp::socket socket_;
};

std::string errno_words(const error_code& why) {
  // Go has its own texts, in lower case.
  if (why == asio::error::connection_refused)
    return "connection refused";
  if (why == asio::error::host_unreachable)
    return "no route to host";
  if (why == asio::error::network_unreachable)
    return "network is unreachable";
  if (why == asio::error::timed_out)
    return "connection timed out";
  if (why == asio::error::connection_reset)
    return "connection reset by peer";
  return why.message();
}

} // namespace

std::string dial_error(const std::string& address, const error_code& why) {
  return "dial tcp " + address + ": connect: " + errno_words(why);
}

std::shared_ptr<running_probe> make_tcp_probe(asio::io_context& loop, name_lookups& names,
                                              const agent::check_definition& check, probe_runner::finished then) {
  return std::make_shared<tcp_probe>(loop, names, check, std::move(then));
}

asio_probes::asio_probes(asio::io_context& loop, http_networks_ptr http_allowed, name_lookups::lookup look_up)
    : loop_(loop), tls_(asio::ssl::context::tls_client), http_allowed_(std::move(http_allowed)),
      names_(std::move(look_up), names_max, threads_max),
      running_(std::make_shared<std::map<std::uint64_t, std::shared_ptr<running_probe>>>()) {
  error_code ignored; // without the system's certificates, HTTPS checks report why they fail
  tls_.set_default_verify_paths(ignored);
}

void asio_probes::start(const agent::check_definition& check, finished then) {
  const auto number = ++numbers_;
  // The map owns running probes; a probe that ends removes itself after its own last call.
  auto over = [running = std::weak_ptr(running_), number, then = std::move(then)](std::string status,
                                                                                  std::string output) {
    if (const auto all = running.lock()) {
      const auto it = all->find(number);
      if (it != all->end())
        all->erase(it);
    }
    then(std::move(status), std::move(output));
  };
  std::shared_ptr<running_probe> probe;
  switch (agent::kind_of(check)) {
  case agent::check_kind::http:
    probe = make_http_probe(loop_, names_, tls_, http_allowed_, check, std::move(over));
    break;
  case agent::check_kind::tcp:
    probe = make_tcp_probe(loop_, names_, check, std::move(over));
    break;
  case agent::check_kind::grpc:
    probe = make_grpc_probe(loop_, names_, tls_, check, std::move(over));
    break;
  case agent::check_kind::script: {
    std::erase_if(scripts_, [](const auto& each) { return each.second.expired(); });
    auto& latest = scripts_[check.id];
    if (const auto previous = latest.lock(); previous && previous->lingers())
      return over("critical", "the process of the previous run cannot be killed");
    probe = make_script_probe(loop_, check, std::move(over));
    latest = probe;
    break;
  }
  default:
    return;
  }
  running_->emplace(number, probe);
  probe->start();
}

void asio_probes::stop() {
  const auto all = std::move(*running_);
  running_->clear();
  for (const auto& [number, probe] : all)
    probe->abandon();
}

} // namespace belay::actors
