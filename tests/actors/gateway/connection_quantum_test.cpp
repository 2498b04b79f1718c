// Connections of one thread take turns, whatever one of them sends.

#include "actors/gateway/http_connection.hpp"
#include "tests/unit/actors/gateway/scripted_host.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

struct quantum_fixture {
  boost::asio::io_context loop;
  std::shared_ptr<socket_poller> poller = std::make_shared<socket_poller>(loop);
  scripted_host host;
  connection_limits limits;
  const std::string address = "127.0.0.1";

  quantum_fixture() {
    host.poller = poller.get();
    host.input.resize(65536);
    host.step = 30us;
  }

  struct client {
    std::shared_ptr<http_connection> connection;
    int fd = -1;

    client(quantum_fixture& f) {
      int both[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both) == 0);
      fd = both[1];
      connection = std::make_shared<http_connection>(f.host, f.limits, both[0], &f.address);
      connection->start();
    }
    ~client() {
      connection->close();
      ::close(fd);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    void send(const std::string& target, std::size_t times) const {
      std::string all;
      for (std::size_t i = 0; i < times; ++i)
        all += "GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n";
      REQUIRE(::send(fd, all.data(), all.size(), 0) == static_cast<ssize_t>(all.size()));
    }
    std::size_t answers() {
      char piece[65536];
      for (ssize_t n = 0; (n = ::recv(fd, piece, sizeof piece, 0)) > 0;)
        received.append(piece, static_cast<std::size_t>(n));
      std::size_t count = 0;
      for (auto at = received.find("HTTP/1.1 404"); at != std::string::npos; at = received.find("HTTP/1.1 404", at + 1))
        ++count;
      return count;
    }
    std::string received;
  };

  bool requested(const std::string& target) const {
    return std::find(host.targets.begin(), host.targets.end(), target) != host.targets.end();
  }
  bool run_until(const std::function<bool()>& reached) {
    for (int i = 0; i < 100'000 && !reached(); ++i)
      loop.run_one_for(1s);
    return reached();
  }
};

} // namespace

TEST_CASE("a client that sends many requests at once takes turns with the others", "[gateway]") {
  quantum_fixture f;
  quantum_fixture::client many(f), one(f);
  constexpr std::size_t count = 1000;
  many.send("/many", count);
  one.send("/one", 1);
  REQUIRE(f.run_until([&] { return f.requested("/one"); }));
  CHECK(std::count(f.host.targets.begin(), f.host.targets.end(), "/many") < 20);
  CHECK(one.answers() <= 1);
  REQUIRE(f.run_until([&] { return many.answers() == count; }));
  CHECK(one.answers() == 1);
  many.send("/again", 1);
  CHECK(f.run_until([&] { return many.answers() == count + 1; }));
}

TEST_CASE("a connection that waits for its next quantum may be closed", "[gateway]") {
  quantum_fixture f;
  {
    quantum_fixture::client many(f);
    many.send("/many", 1000);
    REQUIRE(f.run_until([&] { return f.requested("/many"); }));
  }
  const auto looked_at = f.host.targets.size();
  CHECK(looked_at < 20);
  f.loop.poll();
  CHECK(f.host.targets.size() == looked_at);
}

TEST_CASE("a client that shuts down its side after many requests receives all responses", "[gateway]") {
  quantum_fixture f;
  quantum_fixture::client many(f);
  many.send("/many", 300);
  ::shutdown(many.fd, SHUT_WR);
  CHECK(f.run_until([&] { return many.answers() == 300; }));
  CHECK(f.run_until([&] { return !many.connection->open(); }));
}
