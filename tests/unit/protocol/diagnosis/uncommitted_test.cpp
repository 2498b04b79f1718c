// The leader is still connected, but no majority stores what clients write. They get timeouts, and
// an operator must find out which disk or machine is the cause.

#include "protocol/diagnosis/standstill.hpp"
#include "protocol/diagnosis/uncommitted.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::diagnosis;
using namespace std::chrono_literals;

TEST_CASE("a leader reports that nothing is committed after two seconds, then every ten, and when it continues") {
  commit_watch w;
  const log_index commit{7}, last{9};
  CHECK_FALSE(w.look(commit, log_index{7}, 100ms));
  std::chrono::nanoseconds passed{0};
  std::vector<std::chrono::nanoseconds> response;
  for (int i = 0; i < 250; ++i) {
    passed += 100ms;
    if (const auto f = w.look(commit, last, 100ms)) {
      CHECK_FALSE(f->goes_on);
      CHECK(f->since == passed);
      response.push_back(passed);
    }
  }
  CHECK(response == std::vector<std::chrono::nanoseconds>{2s, 12s, 22s});
  const auto over = w.look(log_index{8}, last, 100ms);
  REQUIRE(over);
  CHECK(over->goes_on);
  CHECK(over->since == 25100ms);
  CHECK_FALSE(w.look(log_index{9}, last, 100ms));
}

TEST_CASE("a leader that commits something now and then, or has nothing to commit, reports nothing") {
  commit_watch w;
  for (std::uint64_t i = 1; i < 100; ++i) {
    CHECK_FALSE(w.look(log_index{i}, log_index{i + 5}, 1900ms));
  }
  CHECK_FALSE(w.look(log_index{200}, log_index{200}, 60s));
  CHECK_FALSE(w.look(log_index{200}, log_index{200}, 60s));
  CHECK_FALSE(w.look(log_index{200}, log_index{201}, 100ms));
}

TEST_CASE("the next leadership starts to wait over") {
  commit_watch w;
  CHECK_FALSE(w.look(log_index{1}, log_index{2}, 1s));
  CHECK_FALSE(w.look(log_index{1}, log_index{2}, 1900ms));
  w.forget();
  CHECK_FALSE(w.look(log_index{1}, log_index{2}, 1900ms));
  CHECK_FALSE(w.look(log_index{1}, log_index{2}, 1900ms));
  CHECK(w.look(log_index{1}, log_index{2}, 100ms));
}

TEST_CASE("the voters without the next entry are named, each with its reason") {
  const log_index commit{201};
  const auto server = [](std::string name, std::uint64_t match, std::chrono::nanoseconds silent = {},
                         bool full = false) {
    return voter_facts{std::move(name), false, log_index{match}, full, silent};
  };
  CHECK(missing_for_commit({server("belay-1", 202), server("belay-2", 201, 40ms, true), server("belay-3", 150, 8400ms)},
                           commit) == "belay-2 disk full, belay-3 silent for 8 s");
  CHECK(missing_for_commit({{"belay-1", true, log_index{201}, true, 0ns}, server("belay-2", 180)}, commit) ==
        "belay-1 (this server) disk full, belay-2 has entries up to 180 only");
  CHECK(missing_for_commit({{"belay-1", true, log_index{201}, false, 3s}}, commit) ==
        "belay-1 (this server) has been writing its log for 3 s");
  CHECK(missing_for_commit({{"belay-1", true, log_index{201}, false, 40ms}}, commit).empty()); // busy
  // A server that disconnected with a full disk counts as disconnected.
  CHECK(missing_for_commit({server("belay-2", 1, 9s, true)}, commit) == "belay-2 silent for 9 s");
  CHECK(missing_for_commit({server("belay-2", 300)}, commit).empty());
}

TEST_CASE("a process was stalled if a sleep took two seconds longer than requested") {
  CHECK_FALSE(standstill_of(1s, 1s));
  CHECK_FALSE(standstill_of(1s, 900ms));
  CHECK_FALSE(standstill_of(1s, 2999ms));
  CHECK(standstill_of(1s, 3s) == std::chrono::nanoseconds(2s));
  CHECK(standstill_of(1s, 9200ms) == std::chrono::nanoseconds(8200ms));
}
