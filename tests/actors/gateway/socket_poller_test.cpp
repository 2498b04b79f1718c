#include "actors/gateway/socket_poller.hpp"

#include <boost/asio/io_context.hpp>

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

using namespace belay::actors;

namespace {

/// One end of a pair of connected sockets, watched; the other end is the test's.
class watched : public socket_owner {
public:
  explicit watched(socket_poller& p) : poller_(p) {
    int both[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both) == 0);
    fd_ = both[0];
    peer_ = both[1];
  }
  ~watched() override {
    expected({});
    ::close(fd_);
    hang_up();
  }

  bool expected(socket_poller::interest i) {
    const bool ok = poller_.change(fd_, *this, now_, i);
    if (ok)
      now_ = i;
    return ok;
  }
  /// Changes its interest at the first event.
  void want_once(socket_poller::interest i) {
    then = [this] { expected({}); };
    REQUIRE(expected(i));
  }
  void peer_sends(const std::string& text) { REQUIRE(::send(peer_, text.data(), text.size(), 0) > 0); }
  void hang_up() {
    if (peer_ >= 0)
      ::close(std::exchange(peer_, -1));
  }
  std::size_t take() {
    char b[64];
    const auto n = ::recv(fd_, b, sizeof b, 0);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }

  void on_ready(bool readable, bool writable) override {
    times_readable += readable ? 1 : 0;
    times_writable += writable ? 1 : 0;
    if (then)
      then();
  }

  int times_readable = 0, times_writable = 0;
  std::function<void()> then;

private:
  socket_poller& poller_;
  int fd_ = -1, peer_ = -1;
  socket_poller::interest now_;
};

struct fixture {
  boost::asio::io_context loop{1};
  std::shared_ptr<socket_poller> poller = std::make_shared<socket_poller>(loop);
};

} // namespace

TEST_CASE("socket_poller: a reader that leaves data is notified again, until it pauses", "[actors]") {
  fixture f;
  watched s(*f.poller);
  REQUIRE(s.expected({true, false}));
  s.peer_sends("abc");
  s.then = [&] {
    if (s.times_readable == 3)
      s.expected({});
  };
  f.loop.run(); // returns, because nothing waits
  CHECK(s.times_readable == 3);
  CHECK(s.take() == 3);
  SECTION("and it can come back") {
    f.loop.restart();
    s.want_once({true, false});
    s.peer_sends("d");
    f.loop.run();
    CHECK(s.times_readable == 4);
  }
}

TEST_CASE("socket_poller: reading and writing are distinguished", "[actors]") {
  fixture f;
  watched s(*f.poller);
  s.want_once({true, true});
  f.loop.run();
  CHECK(s.times_writable == 1);
  CHECK(s.times_readable == 0);
}

TEST_CASE("socket_poller: the end of a connection is something to read", "[actors]") {
  fixture f;
  watched s(*f.poller);
  s.want_once({true, false});
  s.hang_up();
  f.loop.run();
  CHECK(s.times_readable == 1);
}

TEST_CASE("socket_poller: an owner that another one ends in the same batch is not called", "[actors]") {
  fixture f;
  std::vector<std::unique_ptr<watched>> all;
  int called = 0;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<watched>(*f.poller));
    all.back()->peer_sends("x");
    REQUIRE(all.back()->expected({true, false}));
  }
  for (auto& each : all)
    each->then = [&, me = each.get()] {
      ++called;
      for (auto& other : all)
        if (other.get() != me)
          other.reset(); // its event is in the same batch
      me->expected({});
    };
  f.loop.run();
  CHECK(called == 1);
}

TEST_CASE("socket_poller: a descriptor that cannot be watched is refused, and nothing is waited for", "[actors]") {
  fixture f;
  watched s(*f.poller);
  CHECK_FALSE(f.poller->change(-1, s, {}, {true, false}));
  f.loop.run();
  CHECK(s.times_readable == 0);
}
