// Which requests are rejected when they wait to be read, and above all when none are.

#include "protocol/forward/arrival_shedder.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace belay;
using namespace belay::forward;
using namespace std::chrono_literals;

namespace {

constexpr int many = 8'000;

/// Requests that arrive while one probe after another waits.
struct probes {
  arrival_shedder shedder{shedding_rules{}};
  int writes_refused = 0, reads_refused = 0, vital_refused = 0; ///< while the last probe waited

  local_time now{1h};

  void pass(std::chrono::milliseconds delay, int writes, int reads, int vital = 0, std::size_t unfinished = 0) {
    now += 250ms; // in which nothing is measured
    shedder.begin_probe(now);
    writes_refused = come(request_class::write, writes);
    reads_refused = come(request_class::read, reads);
    vital_refused = come(request_class::vital, vital);
    shedder.probe_served(now += delay, unfinished);
  }

  int come(request_class c, int count) {
    int refused = 0;
    for (int i = 0; i < count; ++i)
      refused += shedder.admits(c) ? 0 : 1;
    return refused;
  }
};

} // namespace

TEST_CASE("arrival_shedder: what is not an overload") {
  struct row {
    const char* name;
    std::vector<std::chrono::milliseconds> delays;
    int reads;
  };
  const std::vector<row> rows{
      {"nothing to do", {0ms}, 0},
      {"a busy thread that gets to everything in time", {500ms, 400ms}, many},
      {"512 clients that ask for what takes long", {3000ms}, 512},
      {"a pause of the process, now and then", {8000ms, 20ms}, many},
      {"nobody asks, and the machine was suspended", {3'600'000ms}, 0},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    probes p;
    for (int i = 0; i < 20; ++i) {
      p.pass(r.delays[static_cast<std::size_t>(i) % r.delays.size()], r.reads / 10, r.reads - r.reads / 10);
      CHECK(p.writes_refused + p.reads_refused == 0);
      CHECK_FALSE(p.shedder.refusing());
    }
  }
}

// Requests that arrived before the probe were served in time, so they do not show how many are
// waiting.
TEST_CASE("arrival_shedder: only reads during the probe's wait count, and unanswered ones") {
  for (const std::size_t unfinished : {0, 2000}) {
    probes p;
    for (int i = 0; i < 10; ++i) {
      CHECK(p.come(request_class::read, many) == 0);
      p.pass(900ms, 0, 100, 0, unfinished);
      if (p.shedder.refusing())
        break;
    }
    CHECK(p.shedder.refusing() == (unfinished > 0));
  }
}

TEST_CASE("arrival_shedder: writes are shed first, then reads, and never vital requests") {
  probes p;
  p.pass(600ms, many, many, many);
  CHECK_FALSE(p.shedder.refusing());
  p.pass(625ms, many, many, many); // a fifth too much: two fifths of the writes
  REQUIRE(p.shedder.share() == Approx(0.8));
  p.pass(500ms, many, many, many);
  CHECK(p.writes_refused == Approx(0.4 * many).epsilon(0.1));
  CHECK(p.reads_refused == 0);
  p.pass(1000ms, many, many, many); // 0.4: all writes, and a fifth of the reads
  p.pass(500ms, many, many, many);
  CHECK(p.writes_refused == many);
  CHECK(p.reads_refused == Approx(0.2 * many).epsilon(0.1));
  for (int i = 0; i < 10; ++i)
    p.pass(60s, many, many, many);
  CHECK(p.writes_refused == many);
  CHECK(p.reads_refused > many * 9 / 10);
  CHECK(p.reads_refused < many); // otherwise nothing would be learned
  CHECK(p.vital_refused == 0);
}

TEST_CASE("arrival_shedder: with reads alone as many are rejected, and every write") {
  probes p;
  p.pass(1000ms, 0, many);
  p.pass(1000ms, 0, many);
  p.pass(500ms, 10, many);
  CHECK(p.writes_refused == 10);
  CHECK(p.reads_refused == Approx(0.5 * many).epsilon(0.1));
}

// Otherwise a queue of four seconds would be noticed after eight.
TEST_CASE("arrival_shedder: a late probe is known before it is served") {
  probes p;
  p.shedder.begin_probe(p.now);
  REQUIRE(p.come(request_class::read, many) == 0);
  p.shedder.look(p.now += 500ms, 0);
  p.shedder.look(p.now += 1ms, 0);
  p.shedder.look(p.now += 249ms, 0);
  CHECK_FALSE(p.shedder.refusing());
  REQUIRE(p.come(request_class::read, many) == 0);
  p.shedder.look(p.now += 2ms, 0);
  CHECK(p.shedder.share() == Approx(500.0 / 752));
  const auto before = p.shedder.share();
  p.shedder.probe_served(p.now += 10ms, 0); // its wait has been assessed already
  CHECK(p.shedder.share() == before);
}

TEST_CASE("arrival_shedder: after a pause it is late once, however long the pause was") {
  probes p;
  for (int i = 0; i < 5; ++i) {
    p.shedder.begin_probe(p.now);
    p.come(request_class::read, many);
    p.now += 20s;
    for (int k = 0; k < 20; ++k)
      p.shedder.look(p.now += 10ms, 0);
    p.shedder.probe_served(p.now += 10ms, 0);
    CHECK_FALSE(p.shedder.refusing());
    p.pass(20ms, 0, many);
  }
}

TEST_CASE("arrival_shedder: a few requests that wait long are not an overload, not even while they wait") {
  probes p;
  p.shedder.begin_probe(p.now);
  for (int i = 0; i < 20; ++i) {
    p.come(request_class::read, 20);
    p.shedder.look(p.now += 1s, 600);
  }
  p.shedder.probe_served(p.now += 10ms, 600);
  CHECK_FALSE(p.shedder.refusing());
}

TEST_CASE("arrival_shedder: it is over when nothing waits too long and nothing is refused") {
  probes p;
  p.pass(1000ms, many, many);
  p.pass(1000ms, many, many);
  REQUIRE(p.shedder.refusing());
  int passed = 0;
  for (; p.shedder.refusing() && passed < 20; ++passed)
    p.pass(100ms, many, many); // a quarter more for each
  CHECK(passed > 2);
  CHECK(p.shedder.share() == 1);
  p.pass(1000ms, many, many);
  p.pass(1000ms, many, many);
  p.pass(1ms, 0, 0); // no more requests arrive
  CHECK_FALSE(p.shedder.refusing());
  CHECK(p.shedder.admits(request_class::write));
}

TEST_CASE("arrival_shedder: it can be switched off") {
  probes p{arrival_shedder(shedding_rules{0ms, 1})};
  for (int i = 0; i < 10; ++i) {
    p.pass(10s, many, many);
    CHECK(p.writes_refused + p.reads_refused == 0);
  }
}
