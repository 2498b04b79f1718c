// Which clients are too slow to wait for (docs/internals/pitfalls.md H7).

#include "actors/gateway/client_pace.hpp"
#include "actors/gateway/requests/byte_budget.hpp"

#include <catch2/catch.hpp>

using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

struct observed {
  client_pace pace;
  pace_limits limits;
  client_pace::time now{1h};

  void begin() { pace.begin(now); }
  /// Seconds pass, with this many bytes in each.
  void pass(int seconds, std::uint64_t bytes, bool waiting = true) {
    for (int i = 0; i < seconds; ++i) {
      now += 1s;
      pace.moved(bytes);
      pace.look(now, waiting);
    }
  }
};

} // namespace

TEST_CASE("a header has ten seconds from its first byte, whatever arrives meanwhile") {
  observed o;
  o.pass(1000, 0); // between requests nothing waits for the client
  o.begin();
  o.pass(10, 1000);
  CHECK_FALSE(o.pace.header_too_slow(o.limits));
  o.begin(); // more of the same
  o.pass(1, 1000);
  CHECK(o.pace.header_too_slow(o.limits));
  o.pace.end();
  CHECK_FALSE(o.pace.header_too_slow(o.limits));
  o.begin();
  o.pass(9, 0);
  CHECK_FALSE(o.pace.header_too_slow(o.limits));
}

TEST_CASE("a body may take as long as it likes at 500 bytes a second, and twenty seconds at less") {
  observed enough;
  enough.begin();
  enough.pass(10'000, 500);
  CHECK_FALSE(enough.pace.body_too_slow(enough.limits));
  enough.pass(20, 0);
  CHECK_FALSE(enough.pace.body_too_slow(enough.limits));
  enough.pass(1, 0);
  CHECK(enough.pace.body_too_slow(enough.limits));

  observed trickle; // a byte each second, or in each 25 s, held a connection forever
  trickle.begin();
  trickle.pass(20, 1);
  CHECK_FALSE(trickle.pace.body_too_slow(trickle.limits));
  trickle.pass(1, 1);
  CHECK(trickle.pace.body_too_slow(trickle.limits));
}

// Another restore has to wait for the end of this one (docs/internals/pitfalls.md H6).
TEST_CASE("an uploaded archive must arrive at 16 KiB a second, and within an hour") {
  observed trickle;
  trickle.limits = upload_pace;
  trickle.begin();
  trickle.pass(20, 600); // enough for any other body
  CHECK_FALSE(trickle.pace.body_too_slow(trickle.limits));
  trickle.pass(2, 600);
  CHECK(trickle.pace.body_too_slow(trickle.limits));

  observed fast;
  fast.limits = upload_pace;
  fast.begin();
  fast.pass(10'000, 1 << 20, false); // most of the time it waits for the server
  fast.pass(3600, 1 << 20);
  CHECK_FALSE(fast.pace.body_too_slow(fast.limits));
  fast.pass(1, 1 << 20);
  CHECK(fast.pace.body_too_slow(fast.limits));
}

TEST_CASE("a client is not slow while the server is") {
  observed o;
  o.begin();
  o.pass(1000, 0, false);
  CHECK_FALSE(o.pace.body_too_slow(o.limits));
  CHECK_FALSE(o.pace.header_too_slow(o.limits));
  o.pass(20, 0);
  CHECK_FALSE(o.pace.body_too_slow(o.limits));
  o.pass(1, 0);
  CHECK(o.pace.body_too_slow(o.limits));
}

TEST_CASE("byte_budget: held bytes are counted, and 0 is no limit") {
  byte_budget b;
  b.change(0, 1000);
  CHECK_FALSE(b.exceeded());
  b.limit(1000);
  CHECK_FALSE(b.exceeded());
  b.change(100, 101);
  CHECK(b.exceeded());
  b.change(1001, 0);
  CHECK(b.used() == 0);
  CHECK_FALSE(b.exceeded());
}
