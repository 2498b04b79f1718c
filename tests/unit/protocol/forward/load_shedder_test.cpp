// Which requests are rejected when more come than can be answered, and above all when none are.

#include "protocol/forward/load_shedder.hpp"
#include "protocol/forward/proposal_delays.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::forward;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t few = 1024; ///< the default of load_min

/// Measurement windows of a server, one after another.
struct windows {
  load_shedder shedder{shedding_rules{}};
  local_time now{1h};

  /// In the next window writes wait for these times (empty: none is finished), with this load
  /// unfinished throughout. @returns how many of 1,000 writes are rejected in the window after it
  int pass(std::vector<std::chrono::milliseconds> delays, std::size_t load) {
    shedder.look(now, load);
    for (const auto d : delays)
      shedder.waited(load_shedder::stage::log, d);
    now += load_shedder::window;
    shedder.look(now, load);
    int refused = 0;
    for (int i = 0; i < 1000; ++i)
      refused += shedder.admits(request_class::write, load) ? 0 : 1;
    return refused;
  }
  bool reads_pass(std::size_t load) { return shedder.admits(request_class::read, load); }
};

} // namespace

TEST_CASE("load_shedder: what is not an overload") {
  struct row {
    const char* name;
    std::vector<std::chrono::milliseconds> delays; ///< delays of each window
    std::size_t load;
  };
  const std::vector<row> rows{
      {"nothing to do", {}, 0},
      {"one client on a disk that takes three seconds", {3000ms}, 1},
      {"64 clients that wait for their answers, on that disk", {3000ms}, 64},
      {"512 clients, each with 64 KiB", {3000ms}, 2 * 512},
      {"many clients, answered soon", {100ms, 499ms, 500ms}, 20'000},
      {"a burst: the first waited long, the last did not", {4000ms, 2000ms, 3ms}, 20'000},
      {"no leader: nothing is finished", {}, 60'000},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    windows w;
    for (int i = 0; i < 20; ++i)
      CHECK(w.pass(r.delays, r.load) == 0);
    CHECK_FALSE(w.shedder.limit());
  }
}

// An election, or a stalled disk, delays everything that arrives meanwhile, but nothing later.
TEST_CASE("load_shedder: a pause is not an overload") {
  windows w;
  CHECK(w.pass({}, 30'000) == 0);
  CHECK(w.pass({1200ms, 1150ms}, 30'000) == 0); // the window ends just when the log continues
  CHECK(w.pass({1100ms, 2ms}, 5'000) == 0);
  CHECK(w.pass({2ms}, 100) == 0);
}

TEST_CASE("load_shedder: a request in time between two late windows restarts the count") {
  windows w;
  for (int i = 0; i < 5; ++i) {
    CHECK(w.pass({1000ms}, 30'000) == 0);
    CHECK(w.pass({2ms}, 30'000) == 0);
  }
  CHECK_FALSE(w.shedder.limit());
}

TEST_CASE("load_shedder: writes are shed first, then reads, and never vital requests") {
  windows w;
  CHECK(w.pass({800ms}, 10'000) == 0);
  CHECK(w.pass({1000ms}, 10'000) == 1000);
  REQUIRE(w.shedder.limit() == 5'000); // what is finished in half a second
  CHECK(w.shedder.admits(request_class::write, 4'999));
  CHECK(w.reads_pass(5'000));
  CHECK(w.reads_pass(9'999));
  CHECK_FALSE(w.reads_pass(10'000));
  for (const std::size_t load : {0u, 10'000u, 1'000'000u})
    CHECK(w.shedder.admits(request_class::vital, load));
}

TEST_CASE("load_shedder: the limit follows the capacity") {
  windows w;
  w.pass({1000ms}, 8'000);
  w.pass({1000ms}, 8'000);
  REQUIRE(w.shedder.limit() == 4'000);
  w.pass({400ms}, 5'000);
  CHECK(w.shedder.limit() == 5'000);
  w.pass({10ms}, 6'250); // much faster: a quarter more for each window
  CHECK(w.shedder.limit() == 6'250);
  w.pass({60s}, 6'250); // much slower: half
  CHECK(w.shedder.limit() == 3'125);
  for (int i = 0; i < 10; ++i)
    w.pass({60s}, 3'125);
  CHECK(w.shedder.limit() == few);
  w.pass({}, few); // nothing is finished, so nothing is known
  CHECK(w.shedder.limit() == few);
}

TEST_CASE("load_shedder: it is over when nothing is refused and nothing waits too long") {
  windows w;
  w.pass({1000ms}, 8'000);
  CHECK(w.pass({1000ms}, 8'000) == 1000);
  CHECK(w.pass({300ms}, 100) == 0); // some were rejected in the window before
  CHECK(w.shedder.limit());
  CHECK(w.pass({300ms}, 100) == 0);
  CHECK_FALSE(w.shedder.limit());
  CHECK(w.pass({300ms}, 20'000) == 0);
}

TEST_CASE("load_shedder: reads that wait count as writes do, and quick reads do not hide slow writes") {
  windows w;
  for (int i = 0; i < 3; ++i) {
    w.shedder.waited(load_shedder::stage::reading, 1ms);
    w.pass({900ms}, 4'000);
  }
  CHECK(w.shedder.limit());
  windows of_reads;
  for (int i = 0; i < 3; ++i) {
    of_reads.shedder.waited(load_shedder::stage::reading, 900ms);
    of_reads.pass({}, 4'000);
  }
  CHECK(of_reads.shedder.limit());
}

TEST_CASE("load_shedder: it can be switched off") {
  load_shedder s(shedding_rules{0ms, 1});
  local_time now{1s};
  for (int i = 0; i < 10; ++i) {
    s.waited(load_shedder::stage::log, 10s);
    s.look(now += load_shedder::window, 100'000);
    CHECK(s.admits(request_class::write, 100'000));
  }
}

TEST_CASE("load_shedder: a request with many bytes counts as several") {
  CHECK(load_shedder::load_of(0) == 1);
  CHECK(load_shedder::load_of(65'535) == 1);
  CHECK(load_shedder::load_of(65'536) == 2);
  CHECK(load_shedder::load_of(512 * 1024) == 9);
}

TEST_CASE("proposal_delays: the youngest committed batch gives the time") {
  proposal_delays d;
  CHECK_FALSE(d.committed(log_index{100}, 1s));
  d.proposed(log_index{3}, 1s);
  d.proposed(log_index{5}, 2s);
  d.proposed(log_index{9}, 3s);
  CHECK_FALSE(d.committed(log_index{2}, 4s));
  CHECK(d.committed(log_index{5}, 4s) == 2s);
  CHECK_FALSE(d.committed(log_index{8}, 5s));
  d.forget(); // nothing is known about another leader's entries
  CHECK_FALSE(d.committed(log_index{9}, 6s));
}
