// Situation: a checkpoint after every 16,384 entries. Under load that was one each half second, of
// 20 to 40 MB for 3 MB of keys. Most of the bytes that a server wrote were checkpoints, and its log
// waited for them.

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
