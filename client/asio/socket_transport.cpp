#include <belay/loops/transport.hpp>

#include "client/asio/socket_environment.hpp"
#include "client/core/numbered_requests.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <thread>

namespace belay {
inline namespace v0 {

namespace {

namespace asio = boost::asio;

class sockets final : public transport {
public:
  explicit sockets(const client_options& options)
      : work_(asio::make_work_guard(loop_)), env_(loop_, detail::transport_of(options)), requests_(env_),
        thread_([this] { loop_.run(); }) {}
  ~sockets() override {
    loop_.stop();
    thread_.join();
  }

  void ask(std::uint64_t ticket, const request& q, instant deadline, completion done) override {
    asio::post(loop_, [this, ticket, q = q, deadline, done = std::move(done)]() mutable {
      requests_.ask(ticket, std::move(q), deadline, std::move(done));
    });
  }
  void forget(std::uint64_t ticket) noexcept override {
    asio::post(loop_, [this, ticket] { requests_.forget(ticket); });
  }

private:
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  detail::socket_environment env_;
  detail::numbered_requests requests_;
  std::thread thread_;
};

} // namespace

std::unique_ptr<transport> socket_transport(const client_options& options) {
  return std::make_unique<sockets>(options);
}

} // namespace v0
} // namespace belay
