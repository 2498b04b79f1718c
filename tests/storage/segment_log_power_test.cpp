// The Raft log on a disk that fails, or loses power at any moment.

#include "sim/disks/simulated_files.hpp"
#include "tests/storage/log_story.hpp"

#include <catch2/catch.hpp>

#include <iostream>

namespace belay::tests {

using sim::simulated_files;
using storage::segment_log;

namespace {

storage::segment_log_options small_segments() {
  storage::segment_log_options o;
  o.segment_bytes = 8192;
  o.fill_bytes = 1024;
  o.seed = 11;
  o.newest = begun_version;
  return o;
}

std::unique_ptr<segment_log> open_on_disk(simulated_files& disk) {
  auto log = segment_log::open(disk, "raft", small_segments());
  REQUIRE(log.ok());
  return std::move(log).value();
}

/// The disk before the first changing call, and after each.
struct moments {
  explicit moments(simulated_files& watched) : disk(watched) {
    at.push_back(disk.copy());
    wrote.push_back(false);
    disk.changed = [this, writes = disk.counted().writes]() mutable {
      at.push_back(disk.copy());
      wrote.push_back(disk.counted().writes != writes);
      writes = disk.counted().writes;
    };
  }
  ~moments() { disk.changed = nullptr; }
  moments(const moments&) = delete;
  moments& operator=(const moments&) = delete;

  simulated_files& disk;
  std::vector<std::unique_ptr<simulated_files>> at;
  std::vector<bool> wrote; ///< that call was a write
};

enum class ending : std::uint8_t {
  all,     ///< everything written is there
  nothing, ///< only what was synced
  torn,    ///< the last write up to any byte or sector, everything before as a whole
  any,     ///< any sectors of any unsynced write; names up to any point
};

std::unique_ptr<simulated_files> after_power_loss(const simulated_files& disk, ending how, seeded_random& random) {
  auto rest = disk.copy();
  auto survives = how == ending::nothing ? sim::nothing_survives() : sim::all_survives();
  if (how == ending::torn)
    survives.bytes = [&random](const sim::unsynced_write& w) {
      auto n = w.last ? random.below(w.bytes.size() + 1) : w.bytes.size();
      if (sectors() && n < w.bytes.size())
        n -= std::min(n, (w.offset + n) % 512);
      return std::vector<sim::byte_range>{{0, n}};
    };
  if (how == ending::any)
    survives = {[&random](std::size_t pending) { return random.below(pending + 1); },
                [&random](const sim::unsynced_write& w) {
                  std::vector<sim::byte_range> kept;
                  const auto chance = random.below(5);
                  for (std::size_t at = 0; at < w.bytes.size();) {
                    const auto n = std::min<std::size_t>(w.bytes.size() - at, 512 - (w.offset + at) % 512);
                    if (random.below(4) < chance)
                      kept.push_back({at, n});
                    at += n;
                  }
                  return kept;
                }};
  rest->lose_power(survives);
  return rest;
}

/// A log's life up to its end or the first failure.
struct life {
  std::vector<story_step> steps; ///< the first one is the empty log
  bool failed = false;
  expected_log in_flight; ///< if failed: what the log would have become
};

life live(simulated_files& disk, std::uint64_t seed, int steps) {
  life l;
  seeded_random random(seed);
  expected_log now;
  l.steps.push_back({0, now});
  std::unique_ptr<segment_log> log;
  for (int i = 0; i < steps; ++i) {
    story_step step;
    step.log = now;
    status s = done{};
    if (!log || random.below(25) == 0) {
      log.reset();
      log = open_on_disk(disk);
      auto found = log->load();
      s = found ? status(done{}) : status(found.reason());
      if (found)
        REQUIRE(now.difference(*found) == "");
    } else if (random.below(10) == 0 && now.next_index > now.first_kept) {
      step.log.first_kept = now.first_kept + random.below(now.next_index - now.first_kept);
      s = log->compact(log_index{step.log.first_kept});
    } else {
      const auto batches = draw_batches(now, random);
      for (const auto& b : batches)
        step.log.apply(b);
      s = log->append(batches);
    }
    if (!s) {
      l.failed = true;
      l.in_flight = step.log;
      return l;
    }
    now = step.log;
    step.calls_after = disk.counted().changes;
    l.steps.push_back(std::move(step));
  }
  return l;
}

/// What was acknowledged after `count` changing calls, and what the log may be if the current step
/// succeeded.
std::pair<expected_log, expected_log> expected_after(const life& l, std::size_t count) {
  std::size_t acknowledged = 0;
  while (acknowledged + 1 < l.steps.size() && l.steps[acknowledged + 1].calls_after <= count)
    ++acknowledged;
  auto before = l.steps[acknowledged].log;
  const bool more = acknowledged + 1 < l.steps.size();
  auto after = more ? l.steps[acknowledged + 1].log : l.failed ? l.in_flight : before;
  before.first_kept = after.first_kept = std::max(before.first_kept, after.first_kept);
  return {before, after};
}

/// Opens the disk, compares, and continues the log: later writes must survive another power loss.
void check_recovers(simulated_files& disk, const expected_log& before, const expected_log& after,
                    seeded_random& random) {
  auto log = open_on_disk(disk);
  auto found = log->load();
  if (!found)
    FAIL(found.error());
  const auto difference = before.difference(*found);
  const bool got_through = !difference.empty();
  if (got_through && after.difference(*found) != "")
    FAIL("neither as acknowledged (" << difference << ") nor as under way (" << after.difference(*found) << ")");
  auto now = got_through ? after : before;
  for (int i = 0; i < 2; ++i) {
    const auto batches = draw_batches(now, random);
    if (auto s = log->append(batches); !s)
      FAIL(s.error());
    for (const auto& b : batches)
      now.apply(b);
  }
  log.reset();
  auto again = after_power_loss(disk, ending::nothing, random);
  log = open_on_disk(*again);
  found = log->load();
  if (!found)
    FAIL(found.error());
  if (now.difference(*found) != "")
    FAIL("after going on: " << now.difference(*found));
}

} // namespace

TEST_CASE("power loss after any operation keeps acknowledged entries and nothing partial") {
  each_version();
  // Situation: appends, truncations, votes, snapshots, compactions, segment switches, restarts.
  // Event: power loss after every disk operation; unsynced data is there, gone, torn or partly
  // there. Wrong: a log that does not open, a lost acknowledged entry or vote, half a batch, a gap.
  std::size_t rebuilt = 0, operations = 0, torn = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    simulated_files disk;
    const moments after_call(disk);
    const auto l = live(disk, seed, 70);
    REQUIRE_FALSE(l.failed);
    seeded_random random(seed * 1000);
    operations += disk.counted().changes;
    for (std::size_t count = 0; count < after_call.at.size(); ++count) {
      const auto [before, after] = expected_after(l, count);
      const auto at = [&, &before = before, &after = after](ending how) {
        INFO("seed " << seed << ", after " << count << " operations, ending " << static_cast<int>(how));
        auto rest = after_power_loss(*after_call.at[count], how, random);
        check_recovers(*rest, before, after, random);
        ++rebuilt;
      };
      at(ending::all);
      at(ending::nothing);
      const bool wrote = after_call.wrote[count];
      for (int i = 0; wrote && i < 4; ++i, ++torn) {
        at(ending::torn);
        at(ending::any);
      }
      if (!wrote)
        at(ending::any);
    }
  }
  std::cout << "power loss: " << operations << " operations, " << rebuilt << " disks rebuilt, " << 2 * torn
            << " of them with a write cut or in parts\n";
  CHECK(rebuilt > 3 * operations);
}

TEST_CASE("power loss while recovering from a power loss") {
  each_version();
  // Power fails while a torn write is wiped. The next start must not find damage, nor half of a
  // batch.
  std::size_t rebuilt = 0;
  seeded_random random(77);
  for (std::uint64_t seed = 20; seed < 23; ++seed) {
    simulated_files disk;
    const moments after_call(disk);
    const auto l = live(disk, seed, 40);
    for (std::size_t count = 1; count < after_call.at.size(); ++count) {
      if (!after_call.wrote[count])
        continue;
      const auto [before, after] = expected_after(l, count);
      auto first = after_power_loss(*after_call.at[count], random.below(2) == 0 ? ending::torn : ending::any, random);
      const moments recovering(*first);
      {
        auto log = open_on_disk(*first);
        auto found = log->load();
        if (!found)
          FAIL(found.error());
      }
      for (std::size_t middle = 0; middle < recovering.at.size(); ++middle) {
        for (auto how : {ending::nothing, ending::torn, ending::any}) {
          INFO("seed " << seed << ", after " << count << " and " << middle << " operations");
          auto second = after_power_loss(*recovering.at[middle], how, random);
          check_recovers(*second, before, after, random);
          ++rebuilt;
        }
      }
    }
  }
  std::cout << "power loss twice: " << rebuilt << " disks rebuilt\n";
  CHECK(rebuilt > 500);
}

TEST_CASE("each disk call in turn fails, once or for good") {
  each_version();
  // A failure must be reported, must end the log (a later success would follow a gap), and must not
  // lose anything acknowledged.
  std::size_t failures = 0;
  seeded_random random(3);
  for (bool for_good : {true, false}) {
    for (std::uint64_t n = 1;; ++n) {
      simulated_files disk;
      disk.set_whole_sectors(sectors());
      if (for_good)
        disk.stop_after(n, 1u << 15); // half of a write
      else
        disk.fail_next(n);
      const auto l = live(disk, 4, 90);
      if (disk.counted().failed + disk.counted().stopped == 0) {
        CHECK_FALSE(l.failed);
        break;
      }
      INFO("call " << n << ", for good " << for_good);
      REQUIRE(l.failed);
      ++failures;
      for (auto how : {ending::all, ending::nothing, ending::any}) {
        auto rest = after_power_loss(disk, how, random);
        const auto [before, after] = expected_after(l, disk.counted().changes);
        check_recovers(*rest, before, after, random);
      }
    }
  }
  std::cout << "failing calls: " << failures << "\n";
  CHECK(failures > 300);
}

TEST_CASE("after a failure the log stays closed") {
  each_version();
  simulated_files disk;
  auto log = open_on_disk(disk);
  REQUIRE(log->load().ok());
  REQUIRE(log->append({batch_of({make_entry(1, 1, "a")})}).ok());
  disk.fail_next(2); // the write succeeds, the sync does not
  REQUIRE_FALSE(log->append({batch_of({make_entry(2, 1, "b")})}).ok());
  const auto again = log->append({batch_of({make_entry(2, 1, "b")})});
  REQUIRE_FALSE(again.ok());
  CHECK(again.reason().kind != failure_kind::no_space);
}

} // namespace belay::tests
