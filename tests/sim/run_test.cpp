// The simulation itself: one tape is one run, wherever and whenever it is run.

#include "protocol/base/bytes.hpp"
#include "protocol/base/probe.hpp"
#include "sim/environment/swarm.hpp"
#include "sim/program/isolation.hpp"
#include "sim/run.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace belay::sim {
namespace {

profile brief() {
  return *profile_named("brief");
}

run_report run_seed(std::uint64_t seed) {
  tape t(seed);
  return run(t, {brief(), nullptr});
}

TEST_CASE("run: the same seed is the same run, another seed another") {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto once = run_seed(seed);
    const auto again = run_seed(seed);
    INFO("seed " << seed << ": " << once.what);
    CHECK(once.outcome == run_outcome::passed);
    CHECK(once.trace_hash == again.trace_hash);
    CHECK(once.events == again.events);
    CHECK(once.operations > 0);
    hashes.insert(once.trace_hash);
  }
  CHECK(hashes.size() == 6);
}

// What a run leaves in this process (counters, memory, heap layout) must not affect the next.
TEST_CASE("run: a process of its own makes the same run") {
  const auto here = run_seed(7);
  isolation how;
  how.run = run;
  how.profile = brief();
  const auto there = run_isolated(how, tape(7));
  REQUIRE(there.ok());
  CHECK(there->report.trace_hash == here.trace_hash);
}

TEST_CASE("run: the tape that a seed left makes the same run, in memory and through a file") {
  tape drawn(11);
  const auto first = run(drawn, {brief(), nullptr});
  saved_tape saved;
  saved.seed = drawn.seed();
  saved.profile = "brief";
  saved.items = drawn.taken();
  REQUIRE(saved.items.size() > 100);
  const auto read = parse_tape(to_text(saved));
  REQUIRE(read.ok());
  CHECK(read->items == saved.items);
  tape replayed(read->seed, read->items);
  CHECK(run(replayed, {brief(), nullptr}).trace_hash == first.trace_hash);
}

TEST_CASE("run: reading the trace does not change the run") {
  tape silent(13), received(13);
  std::size_t lines = 0;
  const auto a = run(silent, {brief(), nullptr});
  const auto b = run(received, {brief(), [&](const std::string&) { ++lines; }});
  CHECK(a.trace_hash == b.trace_hash);
  CHECK(lines > 1000);
}

// Without choices there are no faults or clients: a cluster forms, and does all required writes.
TEST_CASE("run: the empty tape is the least eventful run") {
  tape empty(0, {});
  const auto r = run(empty, {brief(), nullptr});
  INFO(r.what);
  CHECK(r.outcome == run_outcome::passed);
  CHECK(r.choices == 0);
  CHECK(r.faults.empty());
  CHECK(r.elections == 1);
}

// Figures of `reference` are compared over years, so additions must not be drawn in it.
TEST_CASE("run: the faults of the profile reference have not changed") {
  const auto p = profile_named("reference");
  REQUIRE(p.has_value());
  CHECK(p->chaos == std::chrono::seconds(45));
  CHECK(p->calm == std::chrono::seconds(15));
  std::string all;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    tape t(seed);
    const auto s = draw_swarm(t, *p);
    all += describe(s);
    const auto& l = s.peer.limits;
    for (const auto n : {std::int64_t(l.election_ticks),
                         std::int64_t(l.append_bytes_max),
                         std::int64_t(l.append_entries_max),
                         std::int64_t(l.inflight_appends_max),
                         std::int64_t(l.snapshot_chunk_bytes),
                         std::int64_t(l.snapshot_chunks_inflight),
                         std::int64_t(l.uncommitted_bytes_max),
                         std::int64_t(l.catch_up_bytes_max),
                         std::int64_t(s.peer.trailing_entries),
                         s.peer.queue_timeout.count(),
                         std::int64_t(s.machine.checkpoints.entries),
                         s.network.latency.count(),
                         s.disk_latency.count(),
                         std::int64_t(s.slow_disk),
                         s.network.redial.count(),
                         s.nemesis_interval.count(),
                         std::int64_t(s.spares),
                         s.think_time.count(),
                         s.client_timeout.count(),
                         std::int64_t(t.taken().size())})
      all += " " + std::to_string(n);
  }
  CHECK(crc32c(all) == 0x4761c941);
}

// No checker fails if a kind of request never succeeds, so each must be seen to succeed.
TEST_CASE("run: archives are saved and restored, and holders at that time become delayed holders") {
  const auto claims = *profile_named("claims");
  const auto before = probe_counts();
  std::set<std::string> wanted = {"clients: archive saved", "state: restore came into force",
                                  "claims: a restore leaves a ghost"};
  constexpr std::uint64_t seeds_max = 10; // half of them restore archives
  for (std::uint64_t seed = 0; seed < seeds_max && !wanted.empty(); ++seed) {
    tape t(seed);
    const auto r = run(t, {claims, nullptr});
    INFO("seed " << seed << ": " << r.what);
    CHECK(r.outcome == run_outcome::passed);
    for (const auto& [name, count] : probe_counts())
      if (const auto it = before.find(name); it == before.end() || it->second < count)
        wanted.erase(name);
  }
  for (const auto& name : wanted)
    FAIL_CHECK("never reached: " << name);
}

// A process without acknowledgements would not send servers the requests that it exists for.
TEST_CASE("run: processes that use the client library do what the library is for") {
  auto p = *profile_named("once");
  p.library_per_million = 1'000'000;
  const auto before = probe_counts();
  std::set<std::string> wanted = {"library: a member of a group acknowledged a change",
                                  "library: an item of a queue was acknowledged",
                                  "library: an item of a queue was given back",
                                  "library: a barrier was passed",
                                  "library: a section was committed",
                                  "library: a step of a section was undone",
                                  "once: an answer that is kept has the row of a locked key"};
  constexpr std::uint64_t seeds_max = 10;
  for (std::uint64_t seed = 0; seed < seeds_max && !wanted.empty(); ++seed) {
    tape t(seed);
    const auto r = run(t, {p, nullptr});
    INFO("seed " << seed << ": " << r.what);
    CHECK(r.outcome == run_outcome::passed);
    for (const auto& [name, count] : probe_counts())
      if (const auto it = before.find(name); it == before.end() || it->second < count)
        wanted.erase(name);
  }
  for (const auto& name : wanted)
    FAIL_CHECK("never reached: " << name);
}

// A kind of row that is written and cannot be read again ends a server for good.
TEST_CASE("run: servers start again after every kind of operation") {
  tape empty(0, {}); // all kinds, all servers, from the checkpoint
  const auto r = run(empty, {*profile_named("restart-after-each"), nullptr});
  INFO(r.what);
  CHECK(r.outcome == run_outcome::passed);
}

TEST_CASE("run: every profile has its name") {
  for (const auto& name : profile_names()) {
    INFO(name);
    REQUIRE(profile_named(name).has_value());
    CHECK(profile_named(name)->name == name);
  }
  CHECK_FALSE(profile_named("no such").has_value());
}

} // namespace
} // namespace belay::sim
