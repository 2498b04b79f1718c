// A checkpoint after every 16,384 entries was one each half second under load, of 20 to 40 MB for 3
// MB of keys: most of the bytes that a server wrote, and its log waited for them.

#include "actors/tables/checkpoint_schedule.hpp"

#include <catch2/catch.hpp>

using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

void apply(checkpoint_schedule& s, std::uint64_t entries, std::size_t bytes) {
  for (std::uint64_t i = 0; i < entries; ++i)
    s.applied(bytes);
}

constexpr std::size_t entry = checkpoint_schedule::entry_bytes;

} // namespace

TEST_CASE("checkpoint_schedule: a checkpoint is due by the bytes that wait for it") {
  checkpoint_limits l;
  l.log_bytes = 100 * (entry + 300);
  checkpoint_schedule s(l);
  s.begin(1h);
  CHECK_FALSE(s.due(2h)); // there is nothing to write
  apply(s, 99, 300);
  CHECK_FALSE(s.due(1h));
  apply(s, 1, 300);
  CHECK(s.due(1h));
  CHECK(s.begin(1h) == 100 * 300);
  CHECK_FALSE(s.due(1h));
  apply(s, 100, 200); // fewer bytes of commands
  CHECK_FALSE(s.due(1h));
  CHECK(s.forget() == 100 * 200);
  CHECK_FALSE(s.due(9h));
}

TEST_CASE("checkpoint_schedule: a checkpoint is due by the time that a restart would take") {
  checkpoint_schedule s({});
  s.begin(1h);
  apply(s, 1000, 10);
  s.took(999ms);
  CHECK_FALSE(s.due(1h));
  s.took(1ms);
  CHECK(s.due(1h));
  s.begin(1h);
  apply(s, 1, 10);
  CHECK_FALSE(s.due(1h));
}

// Situation: three servers start together. What would go wrong: they write their checkpoints at the
// same time, and no majority of them has a fast log meanwhile.
TEST_CASE("checkpoint_schedule: only the first checkpoint comes after a share of the limits") {
  checkpoint_limits l;
  l.log_bytes = 90 * entry;
  checkpoint_schedule s(l);
  apply(s, 29, 0);
  CHECK_FALSE(s.due(1h, 1.0 / 3));
  apply(s, 1, 0);
  CHECK(s.due(1h, 1.0 / 3));
  CHECK_FALSE(s.due(1h, 2.0 / 3));
  s.begin(1h);
  apply(s, 89, 0);
  CHECK_FALSE(s.due(1h, 1.0 / 3));
  apply(s, 1, 0);
  CHECK(s.due(1h, 1.0 / 3));

  s.forget(); // as after a snapshot
  s.took(500ms);
  apply(s, 1, 0);
  CHECK(s.due(1h, 0.5));
  CHECK_FALSE(s.due(1h, 0.6));
}

TEST_CASE("checkpoint_schedule: a number of entries is what it is, also for the first one") {
  checkpoint_limits l;
  l.entries = 10;
  checkpoint_schedule s(l);
  s.begin(1h);
  (void)s.forget();
  apply(s, 9, 0);
  CHECK_FALSE(s.due(1h, 0.1));
  apply(s, 1, 0);
  CHECK(s.due(1h, 0.1));
}

TEST_CASE("checkpoint_schedule: where many rows have changed, a new file is cheaper") {
  CHECK_FALSE(is_new_file_cheaper(0, 0));
  CHECK_FALSE(is_new_file_cheaper(1023, 1023));
  CHECK(is_new_file_cheaper(1024, 1024));
  CHECK(is_new_file_cheaper(2500, 10'000));
  CHECK_FALSE(is_new_file_cheaper(2499, 10'000));
  CHECK(is_new_file_cheaper(5000, 10)); // rows that came and went
}

TEST_CASE("checkpoint_schedule: after an interval a checkpoint needs a reason, too") {
  checkpoint_limits l;
  l.log_bytes_per_interval = 10 * (entry + 50);
  checkpoint_schedule s(l);
  s.begin(1h);
  apply(s, 9, 50);
  CHECK_FALSE(s.due(1h + 31s));
  apply(s, 1, 50);
  CHECK_FALSE(s.due(1h + 29s));
  CHECK(s.due(1h + 30s));
}

TEST_CASE("checkpoint_schedule: with raft_snapshot_threshold it is due by entries, and after each interval") {
  checkpoint_limits l;
  l.entries = 5;
  checkpoint_schedule s(l);
  s.begin(1h);
  CHECK_FALSE(s.due(2h));
  apply(s, 4, 1);
  s.took(10s);
  CHECK_FALSE(s.due(1h + 29s));
  CHECK(s.due(1h + 30s));
  apply(s, 1, 1);
  CHECK(s.due(1h));
  l.log_bytes = 3 * entry;
  checkpoint_schedule bounded(l);
  bounded.begin(1h);
  apply(bounded, 3, 1);
  CHECK(bounded.due(1h));
}
