// Unread bytes: none is lost or sent twice when a socket is full, and buffers do not pile up.

#include "actors/gateway/transport/unsent_output.hpp"

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

TEST_CASE("unsent_output: bytes that the socket accepts at once are dropped") {
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

TEST_CASE("unsent_output: a full socket blocks, and the rest follows in order with later output") {
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

TEST_CASE("unsent_output: a client that disconnects is noticed") {
  socket_pair s;
  s.hang_up();
  unsent_output o;
  std::string fresh = "hello";
  o.take(fresh);
  CHECK(o.send(s.here) == outcome::broken);
}

// Ten thousand idle connections must not each keep the buffer of their largest response.
TEST_CASE("unsent_output: a large buffer returns to the pool, one that is too large is freed") {
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

  o.take(fresh); // with nothing to send, the buffer moves along
  o.release(fresh, 5'000);
  CHECK(fresh.capacity() < 10'000);
}

namespace {

belay::http::shared_body_ptr body_of(const std::vector<std::string>& pieces) {
  belay::http::shared_body b;
  for (const auto& p : pieces) {
    b.pieces.push_back(belay::make_payload(p));
    b.size += p.size();
  }
  return std::make_shared<const belay::http::shared_body>(std::move(b));
}

} // namespace

TEST_CASE("unsent_output: shared bodies keep their position between the bytes around them") {
  socket_pair s;
  unsent_output o;
  const std::string large(700'000, 'b'), other(5, 'd');
  std::string got, fresh = "head ";
  o.take(fresh);
  o.append(body_of({large, "c", large}));
  fresh = " next head ";
  o.take(fresh);
  fresh = "and more ";
  o.take(fresh);
  o.append(body_of({other}));
  CHECK(o.size() == 5 + 2 * large.size() + 1 + 11 + 9 + 5);
  CHECK(o.held_bytes() < 1'000);
  for (int i = 0; i < 1000 && !o.empty(); ++i) {
    const auto before = o.size();
    REQUIRE(o.send(s.here) != outcome::broken);
    CHECK(before - o.size() < 2 * unsent_output::bytes_per_quantum);
    got += s.taken();
  }
  CHECK(o.empty());
  CHECK((got == "head " + large + "c" + large + " next head and more " + other));
  o.release(fresh, shared_max);
  CHECK(o.shared_bytes() == 0);
}

// A client that reads megabytes at full speed must not delay others.
TEST_CASE("unsent_output: a batch ends after a number of bytes, though the socket would accept more") {
  socket_pair s;
  const int room = 8 << 20;
  ::setsockopt(s.here, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  unsent_output o;
  std::string fresh(3 * unsent_output::bytes_per_quantum, 'x');
  const auto all = fresh.size();
  o.take(fresh);
  std::size_t taken = 0;
  for (int round = 0; round < 100 && !o.empty(); ++round) {
    const auto before = o.size();
    o.send(s.here);
    CHECK(before - o.size() <= unsent_output::bytes_per_quantum);
    taken += s.taken().size();
  }
  CHECK(taken == all);
}

TEST_CASE("unsent_output: each user of a shared body holds a share of it") {
  auto body = body_of({std::string(1000, 'x')});
  unsent_output a, b;
  a.append(body);
  b.append(body);
  body.reset();
  CHECK(a.shared_bytes() == 500);
  b.clear();
  CHECK(a.shared_bytes() == 1000);
  CHECK(a.held_bytes() < 100);
}

// An encrypting transport takes the bytes itself, piece by piece.
TEST_CASE("unsent_output: bytes may be taken by hand, and sent ones are not kept") {
  unsent_output o;
  CHECK(o.front().empty());
  std::string fresh = "head ", got;
  o.take(fresh);
  o.append(body_of({"body ", "", "more "}));
  fresh = "tail";
  o.take(fresh);
  while (!o.empty()) {
    const auto next = o.front().substr(0, 3);
    got += next;
    o.skip(next.size());
  }
  CHECK(got == "head body more tail");
  CHECK(o.front().empty());
  CHECK(o.held_bytes() < 1'000);

  // A client that always leaves a little: responses come and go without end.
  for (int i = 0; i < 10'000; ++i) {
    fresh = std::string(100, 'x');
    o.take(fresh);
    o.skip(o.front().size() - 1);
  }
  CHECK(o.size() == 1);
  CHECK(o.held_bytes() < 10'000);
}
