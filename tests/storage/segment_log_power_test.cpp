// The Raft log on a disk that fails, or loses power at any moment.

#include "tests/storage/fake_disk.hpp"
#include "tests/storage/log_story.hpp"

#include <catch2/catch.hpp>

#include <iostream>

namespace belay::tests {

using storage::segment_log;

namespace {

storage::segment_log_options small() {
  storage::segment_log_options o;
  o.segment_bytes = 8192;
  o.fill_bytes = 1024;
  o.seed = 11;
  return o;
}

std::unique_ptr<segment_log> open_log(fake_disk& disk) {
  auto log = segment_log::open(disk, "raft", small());
  REQUIRE(log.ok());
  return std::move(log).value();
}

/// A log's life up to its end or the first failure.
struct life {
  std::vector<story_step> steps; ///< the first one is the empty log
  bool failed = false;
  expected_log in_flight; ///< if failed: what the log would have become
};

life live(fake_disk& disk, std::uint64_t seed, int steps) {
  life l;
  seeded_random random(seed);
  expected_log now;
  l.steps.push_back({0, 0, now});
  std::unique_ptr<segment_log> log;
  for (int i = 0; i < steps; ++i) {
    story_step step;
    step.operations_before = disk.operations().size();
    step.log = now;
    status s = done{};
    if (!log || random.below(25) == 0) {
      log.reset();
      log = open_log(disk);
      auto found = log->load();
      s = found ? status(done{}) : status(failure{found.error()});
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
    step.operations_after = disk.operations().size();
    l.steps.push_back(std::move(step));
  }
  return l;
}

/// What was acknowledged when `count` operations were done, and what it might have become if the step under way got
/// through.
std::pair<expected_log, expected_log> expected_after(const life& l, std::size_t count) {
  std::size_t acknowledged = 0;
  while (acknowledged + 1 < l.steps.size() && l.steps[acknowledged + 1].operations_after <= count)
    ++acknowledged;
  auto before = l.steps[acknowledged].log;
  const bool more = acknowledged + 1 < l.steps.size();
  auto after = more ? l.steps[acknowledged + 1].log : l.failed ? l.in_flight : before;
  before.first_kept = after.first_kept = std::max(before.first_kept, after.first_kept);
  return {before, after};
}

/// Opens the disk, compares, and lets the log live on: what comes next must be there after yet another power loss.
void check_recovers(fake_disk& disk, const expected_log& before, const expected_log& after, seeded_random& random) {
  auto log = open_log(disk);
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
  auto again = fake_disk::after_power_loss(disk.operations(), disk.operations().size(), survival::nothing, random);
  log = open_log(*again);
  found = log->load();
  if (!found)
    FAIL(found.error());
  if (now.difference(*found) != "")
    FAIL("after going on: " << now.difference(*found));
}

} // namespace

TEST_CASE("power loss after any operation keeps what was acknowledged and nothing half") {
  // Situation: appends, truncations, votes, restarts after snapshots, compactions, segment switches, restarts.
  // Event: the power goes after every single disk operation; what was not synced is there, gone, torn at a byte, or
  // there in parts. Wrong would be: a log that does not open, a lost acknowledged entry or vote, half a batch, a gap.
  std::size_t rebuilt = 0, operations = 0, torn = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    fake_disk disk;
    const auto l = live(disk, seed, 70);
    REQUIRE_FALSE(l.failed);
    seeded_random random(seed * 1000);
    operations += disk.operations().size();
    for (std::size_t count = 0; count <= disk.operations().size(); ++count) {
      const auto [before, after] = expected_after(l, count);
      const auto at = [&](survival how) {
        INFO("seed " << seed << ", after " << count << " operations, survival " << static_cast<int>(how));
        auto rest = fake_disk::after_power_loss(disk.operations(), count, how, random);
        check_recovers(*rest, before, after, random);
        ++rebuilt;
      };
      at(survival::all);
      at(survival::nothing);
      const bool wrote = count > 0 && disk.operations()[count - 1].kind == disk_operation::kind::write;
      for (int i = 0; wrote && i < 4; ++i, ++torn) {
        at(survival::torn);
        at(survival::any);
      }
      if (!wrote)
        at(survival::any);
    }
  }
  std::cout << "power loss: " << operations << " operations, " << rebuilt << " disks rebuilt, " << 2 * torn
            << " of them with a write cut or in parts\n";
  CHECK(rebuilt > 3 * operations);
}

TEST_CASE("power loss while recovering from a power loss") {
  // The wiping of a torn write is itself cut: it must not turn into damage, nor bring half a batch back.
  std::size_t rebuilt = 0;
  seeded_random random(77);
  for (std::uint64_t seed = 20; seed < 23; ++seed) {
    fake_disk disk;
    const auto l = live(disk, seed, 40);
    for (std::size_t count = 1; count <= disk.operations().size(); ++count) {
      if (disk.operations()[count - 1].kind != disk_operation::kind::write)
        continue;
      const auto [before, after] = expected_after(l, count);
      auto first = fake_disk::after_power_loss(disk.operations(), count,
                                               random.below(2) == 0 ? survival::torn : survival::any, random);
      const auto start = first->operations().size();
      {
        auto log = open_log(*first);
        auto found = log->load();
        if (!found)
          FAIL(found.error());
      }
      for (auto middle = start; middle <= first->operations().size(); ++middle) {
        for (auto how : {survival::nothing, survival::torn, survival::any}) {
          INFO("seed " << seed << ", after " << count << " and " << middle - start << " operations");
          auto second = fake_disk::after_power_loss(first->operations(), middle, how, random);
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
  // A failure must be told, must end the log (a later success would follow a gap), and must not cost anything
  // acknowledged.
  std::size_t failures = 0;
  seeded_random random(3);
  for (bool for_good : {true, false}) {
    for (std::uint64_t n = 0;; ++n) {
      fake_disk disk;
      disk.fail_after(n, for_good);
      const auto l = live(disk, 4, 90);
      if (!disk.failed()) {
        CHECK_FALSE(l.failed);
        break;
      }
      INFO("call " << n << ", for good " << for_good);
      REQUIRE(l.failed);
      ++failures;
      for (auto how : {survival::all, survival::nothing, survival::any}) {
        auto rest = fake_disk::after_power_loss(disk.operations(), disk.operations().size(), how, random);
        const auto [before, after] = expected_after(l, disk.operations().size());
        check_recovers(*rest, before, after, random);
      }
    }
  }
  std::cout << "failing calls: " << failures << "\n";
  CHECK(failures > 300);
}

TEST_CASE("after a failure the log stays closed") {
  fake_disk disk;
  auto log = open_log(disk);
  REQUIRE(log->load().ok());
  REQUIRE(log->append({batch_of({make_entry(1, 1, "a")})}).ok());
  disk.fail_after(1, false); // the write succeeds, the sync does not
  REQUIRE_FALSE(log->append({batch_of({make_entry(2, 1, "b")})}).ok());
  const auto again = log->append({batch_of({make_entry(2, 1, "b")})});
  REQUIRE_FALSE(again.ok());
  CHECK_FALSE(again.error().starts_with("no space"));
}

} // namespace belay::tests
