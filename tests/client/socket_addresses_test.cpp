// Connections to a server whose name has two addresses, one of which never responds; and responses
// that are cut. The servers are threads of this program.
#include "tests/client/servers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <thread>

namespace socket_tests {

constexpr auto two_addresses = "two-addresses.test";

} // namespace socket_tests

/// Takes the place of the C library's in this program: one name has two addresses.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || std::string_view(host) != socket_tests::two_addresses)
    return real(host, service, hints, found);
  addrinfo* second = nullptr;
  if (int failed = real("127.0.0.2", service, hints, found))
    return failed;
  if (int failed = real("127.0.0.1", service, hints, &second))
    return failed;
  auto* last = *found;
  while (last->ai_next)
    last = last->ai_next;
  last->ai_next = second;
  return 0;
}

namespace socket_tests {

namespace net = boost::asio;
using net::ip::tcp;
using namespace belay;
using namespace belay::client_tests;
using steady = std::chrono::steady_clock;

/// Responds to each request on a new connection with `head` and the key `k`, and ends it.
class small_server {
public:
  explicit small_server(std::string head, bool resets = false)
      : head_(std::move(head)), resets_(resets), acceptor_(loop_, {net::ip::make_address("127.0.0.1"), 0}),
        thread_([this] { serve(); }) {}
  ~small_server() {
    ended_ = true;
    boost::system::error_code ignored;
    tcp::socket last(loop_);
    last.connect(acceptor_.local_endpoint(), ignored); // wakes accept()
    last.close(ignored);
    thread_.join();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
  void serve() {
    while (!ended_) {
      boost::system::error_code failed;
      tcp::socket one(loop_);
      acceptor_.accept(one, failed);
      std::string request;
      net::read_until(one, net::dynamic_buffer(request), "\r\n\r\n", failed);
      if (failed)
        continue;
      net::write(one, net::buffer(head_ + body), failed);
      std::this_thread::sleep_for(milliseconds(100)); // a reset discards what has not been read
      if (resets_)
        one.set_option(net::socket_base::linger(true, 0), failed);
      one.close(failed);
    }
  }

  static constexpr auto body =
      R"([{"LockIndex":0,"Key":"k","Flags":0,"Value":"dg==","CreateIndex":5,"ModifyIndex":5}])";
  std::string head_;
  bool resets_;
  net::io_context loop_;
  tcp::acceptor acceptor_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

constexpr auto head = "HTTP/1.1 200 OK\r\nX-Consul-Index: 5\r\nConnection: close\r\n\r\n";

/// Listens at 127.0.0.2, and its queue of connections is full: the kernel drops further ones.
class silent_listener {
public:
  explicit silent_listener(std::uint16_t port) : acceptor_(loop_) {
    tcp::endpoint here(net::ip::make_address("127.0.0.2"), port);
    acceptor_.open(here.protocol());
    acceptor_.bind(here);
    acceptor_.listen(0);
    waiting_.reserve(4);
    for (int i = 0; i < 4; ++i) {
      waiting_.emplace_back(loop_);
      waiting_.back().async_connect(here, [](boost::system::error_code) {});
    }
    loop_.run_for(milliseconds(100));
  }

private:
  net::io_context loop_;
  tcp::acceptor acceptor_;
  std::vector<tcp::socket> waiting_;
};

client_options for_name(std::uint16_t port) {
  client_options o;
  o.servers = {"http://" + std::string(two_addresses) + ":" + std::to_string(port)};
  return o;
}

TEST_CASE("client: an address that does not respond leaves time for the next one, which is remembered", "[client]") {
  small_server server(head);
  silent_listener none(server.port());
  client c(for_name(server.port()));
  auto first = c.get("k", seconds(4));
  REQUIRE(first);
  CHECK(first->found->value == "v");
  auto begun = steady::now();
  CHECK(c.get("k", seconds(4)));
  CHECK(steady::now() - begun < seconds(1));
}

TEST_CASE("client: after a request that was too short to connect, the next one begins with the other address",
          "[client]") {
  small_server server(head);
  silent_listener none(server.port());
  client c(for_name(server.port()));
  CHECK_FALSE(c.get("k", milliseconds(500)));
  CHECK(c.get("k", milliseconds(500)));
}

// Requests without a deadline end some time after the machine of the server has died.
TEST_CASE("client: connections notice a silent machine within minutes", "[client]") {
  auto port = harness::free_ports(1).front();
  silent_listener none(port);
  client_options o;
  o.servers = {"http://127.0.0.2:" + std::to_string(port)};
  client c(o);
  std::thread connects([&] { (void)c.get("k", seconds(1)); });
  auto checked_connections = [] {
    int n = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      int on = 0, idle = 0;
      socklen_t size = sizeof on;
      bool is_socket = ::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size) == 0 &&
                       ::getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size) == 0;
      n += is_socket && on != 0 && idle <= 60 ? 1 : 0;
    }
    return n;
  };
  CHECK(harness::eventually(seconds(5), [&] { return checked_connections() > 0; }));
  connects.join();
}

// Without a length, the end of the connection is the end of the body.
TEST_CASE("client: a response without a length that ends in a reset is incomplete", "[client]") {
  for (bool resets : {false, true}) {
    INFO((resets ? "reset" : "closed"));
    small_server server(head, resets);
    client_options o;
    o.servers = {"http://127.0.0.1:" + std::to_string(server.port())};
    client c(o);
    CHECK(c.get("k", seconds(1)).done() == !resets);
  }
}

} // namespace socket_tests
