// Keys that are removed together are destroyed later, which must not be visible. A machine that
// destroys at once and one that does so at any time get the same entries.

#include "protocol/base/random.hpp"
#include "protocol/state/row_hash.hpp"
#include "tests/harness/cpu_time.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <functional>
#include <map>

using namespace belay;
using namespace belay::state;

namespace {

using row_id = std::pair<std::uint8_t, std::string>;
using store = std::map<row_id, std::uint64_t>; ///< hashes of rows, as in a checkpoint

void take_checkpoint(machine& m, store& s) {
  for (auto& row : m.take_dirty()) { // if a row is there twice, the last one counts
    const row_id id{static_cast<std::uint8_t>(row.table), row.key};
    if (std::holds_alternative<std::monostate>(row.row))
      s.erase(id);
    else
      s[id] = row_hash(row);
  }
}

struct pair_of_machines {
  driver at_once, later;
  store at_once_stored, later_stored;

  explicit pair_of_machines(std::size_t window_bytes) {
    at_once.m.tear_down_at_once(SIZE_MAX);
    later.m.tear_down_at_once(0);
    for (auto* d : {&at_once, &later})
      d->m.keep_changes(window_bytes);
  }

  template <class Do>
  void both(Do&& one) {
    const auto a = one(at_once), b = one(later);
    CHECK(a == b);
    CHECK(at_once.changed.size() == later.changed.size());
  }

  void compare() {
    REQUIRE(at_once.m.digest() == later.m.digest());
    REQUIRE(later.m.recompute_digest() == later.m.digest());
    CHECK(at_once.m.key_count() == later.m.key_count());
    for (auto* d : {&at_once, &later}) {
      const auto wrong = d->m.recount();
      INFO(wrong.value_or(""));
      REQUIRE(!wrong);
    }
    (void)at_once.m.tear_down(0); // what a checkpoint leaves to be freed, but no row
    CHECK_FALSE(at_once.m.has_left_over());
    for (const auto* prefix : {"", "a", "a/", "a/1", "b/"})
      CHECK(at_once.m.index_of(kv_list{prefix}) == later.m.index_of(kv_list{prefix}));
    CHECK(at_once.m.changes_counted().bytes == later.m.changes_counted().bytes);
    CHECK(at_once.m.changes_counted().floor == later.m.changes_counted().floor);
  }

  void compare_checkpoints() {
    take_checkpoint(at_once.m, at_once_stored);
    take_checkpoint(later.m, later_stored);
    CHECK(at_once_stored == later_stored);
    std::uint64_t sum = 0;
    for (const auto& [id, hash] : later_stored)
      sum += hash;
    CHECK(sum == later.m.digest());
  }
};

txn random_txn(seeded_random& random, const std::function<std::string()>& any_key) {
  txn t;
  for (auto n = 1 + random.below(6); n > 0; --n)
    switch (random.below(4)) {
    case 0:
      t.ops.push_back(op_on(kv_verb::remove_tree, random.below(2) == 0 ? "a/" : "a/1"));
      break;
    case 1:
      t.ops.push_back(op_on(kv_verb::remove, any_key()));
      break;
    case 2:
      t.ops.push_back(op_on(kv_verb::check_not_exists, any_key())); // rolls everything back, now and then
      break;
    default:
      t.ops.push_back(op_on(kv_verb::set, any_key(), std::to_string(random.below(100))));
    }
  return t;
}

} // namespace

TEST_CASE("the removal of deleted keys in slices is invisible") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    seeded_random random(seed);
    pair_of_machines m(seed % 3 == 0 ? 4'000 : 1u << 20);
    for (int s = 1; s <= 4; ++s)
      m.both(
          [&](driver& d) { return d.open(s, 0, s % 2 == 0 ? session_behavior::remove : session_behavior::release); });
    const std::function<std::string()> any_key = [&] {
      return std::string(random.below(4) == 0 ? "b/" : "a/") + std::to_string(random.below(40));
    };
    for (int step = 0; step < 400; ++step) {
      const auto key = any_key();
      const int session = 1 + static_cast<int>(random.below(4));
      switch (random.below(16)) {
      case 0: {
        const std::string prefix = std::array{"a/", "", "a/1", "b/", "c"}[random.below(5)];
        m.both([&](driver& d) { return d.remove_tree(prefix); });
        break;
      }
      case 1:
        m.both([&](driver& d) { return d.remove(key); });
        break;
      case 2:
      case 3:
      case 4:
        m.both([&](driver& d) { return d.acquire(key, uuid(session)); });
        break;
      case 5:
        m.both([&](driver& d) { return d.release(key, uuid(session)); });
        break;
      case 6:
        m.both([&](driver& d) {
          d.close(uuid(session));
          return d.open(session, 0, session % 2 == 0 ? session_behavior::remove : session_behavior::release);
        });
        break;
      case 7:
      case 8: {
        const auto t = random_txn(random, any_key);
        m.both([&](driver& d) {
          const auto before = d.m.digest();
          const auto errors = std::get<txn_reply>(d.apply(t)).errors.size();
          CHECK((errors == 0 || d.m.digest() == before));
          return errors;
        });
        break;
      }
      default:
        m.both([&](driver& d) { return d.set(key, std::to_string(step)); });
      }
      if (random.below(3) == 0)
        m.later.m.tear_down(random.below(4));
      m.compare();
      if (random.below(25) == 0)
        m.compare_checkpoints();
    }
    m.compare_checkpoints();
    while (m.later.m.has_left_over())
      m.later.m.tear_down(1);
    m.compare();
  }
}

TEST_CASE("an entry that changes more keys than the window holds is not kept, and costs nothing there") {
  constexpr std::size_t keys = 200;
  driver d;
  d.m.keep_changes(20'000); // some 60 changes
  for (std::size_t i = 0; i < keys; ++i)
    d.set("a/" + std::to_string(i));
  REQUIRE(d.m.changes_counted().count > 0);
  d.remove_tree("a/");
  CHECK(d.m.changes_counted().count == 0);
  CHECK(d.m.changes_counted().floor == d.index());
  d.set("b");
  CHECK(d.m.changes_counted().count == 1);
}

TEST_CASE("a deleted tree is removed in slices of the requested number of rows") {
  constexpr std::size_t keys = 1'000, slice = 64;
  driver d;
  d.m.tear_down_at_once(10);
  for (std::size_t i = 0; i < keys; ++i)
    d.set("a/" + std::to_string(i));
  d.remove_tree("a/");
  std::size_t slices = 0;
  for (; d.m.has_left_over(); ++slices)
    d.m.tear_down(slice);
  CHECK(slices == (keys + slice - 1) / slice);
}

// The thread that applies entries also answers reads: a large tree must not delay other clients.
TEST_CASE("removing 300,000 keys occupies the state machine's thread about as long as removing 3,000") {
  const auto time_of = [](std::size_t keys) {
    machine m;
    effects changed;
    const auto apply = [&](const command& c) {
      changed.clear();
      m.apply(m.applied_index().next(), cluster_time{1000}, c, changed);
    };
    for (std::size_t i = 0; i < keys; ++i)
      apply(kv_write{op_on(kv_verb::set, "k/" + std::to_string(i))});
    m.take_dirty();
    return belay::harness::least_cpu_time([&] { apply(kv_write{op_on(kv_verb::remove_tree, "k/")}); }, 1);
  };
  std::chrono::nanoseconds few{0}, many{0};
  CHECK(belay::harness::holds_once([&] {
    few = time_of(3'000);
    many = time_of(300'000);
    return many < 20 * few; // 100 times, when the entry itself destroyed each key
  }));
  INFO("3,000 keys: " << few.count() << " ns, 300,000: " << many.count() << " ns");
}
