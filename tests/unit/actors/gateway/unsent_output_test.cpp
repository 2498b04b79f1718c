// Bytes that a client has not taken: nothing is lost or sent twice when its socket is full, and buffers do not pile up.

#include "actors/gateway/unsent_output.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

using belay::actors::unsent_output;
using outcome = belay::actors::unsent_output::outcome;

namespace {

struct socket_pair {
  socket_pair() {
    int both[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both) == 0);
    here = both[0];
    there = both[1];
  }
  ~socket_pair() {
    ::close(here);
    hang_up();
  }
  void hang_up() {
    if (there >= 0)
      ::close(std::exchange(there, -1));
  }
  /// What the client reads now.
  std::string taken() {
    std::string all;
    char bytes[65536];
    for (;;) {
      const auto n = ::recv(there, bytes, sizeof bytes, 0);
      if (n <= 0)
        return all;
      all.append(bytes, static_cast<std::size_t>(n));
    }
  }
  int here = -1, there = -1;
};

constexpr std::size_t shared_max = 1 << 20;

} // namespace

TEST_CASE("unsent_output: what the socket takes at once is gone") {
  socket_pair s;
  unsent_output o;
  std::string fresh = "hello";
  o.take(fresh);
  CHECK(fresh.empty());
  CHECK(o.size() == 5);
  CHECK(o.send(s.here) == outcome::sent);
  CHECK(o.empty());
  o.release(fresh, shared_max);
  CHECK(s.taken() == "hello");
}

TEST_CASE("unsent_output: a full socket blocks, and what is left follows in order with what came meanwhile") {
  socket_pair s;
  unsent_output o;
  std::string all, got;
  for (int i = 0; i < 100'000; ++i)
    all += std::to_string(i) + " ";
  const std::string more = "and more";
  std::string fresh = all;
  o.take(fresh);
  REQUIRE(o.send(s.here) == outcome::blocked);
  CHECK(o.size() < all.size());
  fresh = more;
  o.take(fresh);
  CHECK(fresh.empty());
  for (int i = 0; i < 1000 && !o.empty(); ++i) {
    got += s.taken();
    o.send(s.here);
  }
  CHECK(o.empty());
  got += s.taken();
  CHECK(got == all + more);
}

TEST_CASE("unsent_output: a client that is gone is noticed") {
  socket_pair s;
  s.hang_up();
  unsent_output o;
  std::string fresh = "hello";
  o.take(fresh);
  CHECK(o.send(s.here) == outcome::broken);
}

// Ten thousand idle connections must not each keep the buffer of their largest answer.
TEST_CASE("unsent_output: a large buffer goes back to who shares it, one that is too large is freed") {
  socket_pair s;
  unsent_output o;
  std::string fresh(10'000, 'x');
  const auto* buffer = fresh.data();
  o.take(fresh);
  CHECK(fresh.capacity() < 10'000);
  REQUIRE(o.send(s.here) == outcome::sent);
  o.release(fresh, shared_max);
  CHECK(fresh.empty());
  CHECK(fresh.data() == buffer);

  o.take(fresh); // nothing to send, the buffer travels with it
  o.release(fresh, 5'000);
  CHECK(fresh.capacity() < 10'000);
}
