// The window of changes, and a copy of it that survives a restart.

#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <optional>

using namespace belay;
using namespace belay::state;

namespace {

std::string shown(const kv_entry_ptr& e) {
  return e ? std::string(e->key) + '=' + std::string(*e->value) + '/' + std::string(e->session) + '/' +
                 std::to_string(e->lock_index) + '/' + to_string(e->create_index) + '/' + to_string(e->modify_index)
           : "none";
}

/// Everything that the window can answer: its changes, and each key at each index.
std::string all_answers(const machine& m, const std::vector<std::string>& keys) {
  const auto floor = m.changes_counted().floor;
  std::string text = "floor " + to_string(floor) + '\n';
  for (change_position at{floor};;) {
    const auto rows = std::get<change_rows>(m.evaluate(kv_changes{{""}, at}).data);
    for (const auto& c : rows.list)
      text += to_string(change_position{c.index, c.effect}) + ' ' + std::string(name_of(c.kind)) + ' ' + shown(c.row) +
              " after " + to_string(c.previous) + '\n';
    at = rows.reached;
    if (!rows.more)
      break;
  }
  for (const auto& key : keys)
    for (auto at = floor; at <= m.applied_index(); at = at.next()) {
      const auto found = m.evaluate(kv_at{key, at});
      const auto* rows = std::get_if<kv_entries>(&found.data);
      text += key + '@' + to_string(at) + ' ' +
              (rows == nullptr ? "gone" : shown(rows->entries.empty() ? nullptr : rows->entries.front())) + '\n';
    }
  return text;
}

/// The content of the disk: the rows of a checkpoint, and the copy beside it.
class disk_copy {
public:
  void take(driver& d, bool all = false) {
    keep(d.m.take_unkept_changes(all));
    rows_ = d.m.all_rows();
    applied_ = d.index();
    now_ = d.now;
  }
  /// The copy alone: its checkpoint is missing.
  void keep(const unkept_changes& lacks) {
    if (!lacks.behind)
      kept_.clear();
    std::erase_if(kept_, [&](const auto& each) { return each.first.index <= lacks.floor; });
    for (auto c : lacks.list) {
      if (c.goes_on)
        c.change.before = nullptr;
      written_before_ += c.change.before != nullptr;
      kept_[{c.index, c.effect}] = std::move(c);
    }
    floor_ = lacks.floor;
  }
  status load(machine& m) const {
    for (auto row : rows_)
      m.load_row(std::move(row));
    m.finish_load(applied_, now_);
    std::vector<kept_change> list;
    for (const auto& [position, c] : kept_)
      if (position.index <= applied_)
        list.push_back(c);
    return m.load_changes(std::min(floor_, applied_), std::move(list));
  }
  std::map<change_position, kept_change>& kept() { return kept_; }
  /// The number of rows written before.
  std::size_t written_before() const { return written_before_; }

private:
  std::vector<dirty_row> rows_;
  std::map<change_position, kept_change> kept_;
  log_index floor_, applied_;
  cluster_time now_;
  std::size_t written_before_ = 0;
};

const std::vector<std::string> keys{"a0", "a1", "b0", "b1", "c"};

/// Random writes, checkpoints and restarts. @returns what a restart has changed; empty: nothing
std::string random_restarts(std::uint64_t seed) {
  seeded_random random(seed);
  const std::size_t bytes = 2'000 + random.below(15'000);
  driver d;
  d.m.keep_changes(bytes);
  disk_copy disk;
  disk.take(d);
  std::vector<std::string> sessions;
  for (int step = 0; step < 300; ++step) {
    const auto& key = keys[random.below(keys.size())];
    switch (random.below(9)) {
    case 0:
      d.remove(key);
      break;
    case 1:
      d.remove_tree(key.substr(0, 1));
      break;
    case 2:
      sessions.push_back(d.open(step, 0, random.below(2) == 0 ? session_behavior::release : session_behavior::remove));
      break;
    case 3:
      if (!sessions.empty())
        d.write(kv_verb::lock, key, "v", 0, 0, sessions[random.below(sessions.size())]);
      break;
    case 4:
      if (!sessions.empty())
        d.close(sessions[random.below(sessions.size())]);
      break;
    case 5: {
      txn t;
      t.ops = {op_on(kv_verb::set, key, std::to_string(step)), op_on(kv_verb::remove_tree, key.substr(0, 1)),
               op_on(kv_verb::set, key, "x")};
      d.apply(t);
      break;
    }
    default:
      d.set(key, std::string(random.below(120), 'v') + std::to_string(step));
    }
    if (random.below(8) == 0)
      disk.take(d, random.below(6) == 0);
    if (random.below(20) != 0)
      continue;
    disk.take(d);
    const auto before = all_answers(d.m, keys);
    machine fresh;
    if (const auto s = disk.load(fresh); !s)
      return s.error();
    fresh.keep_changes(bytes);
    if (const auto after = all_answers(fresh, keys); after != before)
      return "before:\n" + before + "after:\n" + after;
    d.m = std::move(fresh);
  }
  return {};
}

} // namespace

TEST_CASE("a restart changes no response of the window") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    CHECK(random_restarts(seed) == "");
  }
}

TEST_CASE("restarts find a copy with a hole") {
  REQUIRE(activate_mutant("kept_window_with_a_hole"));
  std::uint64_t seed = 1;
  while (seed <= 20 && random_restarts(seed).empty())
    ++seed;
  activate_mutant("");
  CHECK(seed <= 20);
}

TEST_CASE("each value of a key that changes repeatedly is written once") {
  driver d;
  disk_copy disk;
  disk.take(d);
  d.set("a", "0");
  for (int i = 1; i < 10; ++i)
    d.set("a", std::to_string(i));
  disk.take(d);
  CHECK(disk.written_before() == 0);
  d.set("a", "10"); // continues one that the copy has
  disk.take(d);
  CHECK(disk.written_before() == 0);
  d.remove("a"); // its key is that of the previous row
  disk.take(d);
  CHECK(disk.written_before() == 1);
}

TEST_CASE("a change whose predecessor is dropped is written again, with the row before it") {
  driver d;
  disk_copy disk;
  d.set("other");
  disk.take(d);
  const auto one = d.index().next();
  d.set("a", "1");
  d.set("a", "2");
  d.set("a", "3");
  disk.take(d);
  REQUIRE(disk.written_before() == 0);
  const auto each = d.m.changes_counted().bytes / d.m.changes_counted().count;
  d.m.keep_changes(2 * each + each * 3 / 4); // "1" leaves
  REQUIRE(d.m.changes_counted().floor == one);
  d.set("other", "z"); // and "2"
  REQUIRE(d.m.changes_counted().floor == one.next());
  disk.take(d);
  CHECK(disk.kept().size() == 2);
  CHECK(disk.written_before() == 2); // those of "3" and of "z"; none of "2", which has left since
  machine fresh;
  REQUIRE(disk.load(fresh).ok());
  CHECK(all_answers(fresh, {"a", "other"}) == all_answers(d.m, {"a", "other"}));
}

TEST_CASE("a copy that is ahead of its checkpoint serves changes up to the checkpoint") {
  // The copy is written first; then the power fails.
  driver d;
  disk_copy disk;
  d.set("a", "1");
  d.set("a", "2");
  disk.take(d);
  const auto before = all_answers(d.m, {"a"});
  d.set("a", "3");
  d.set("b", "1");
  disk.keep(d.m.take_unkept_changes(false));
  machine fresh;
  REQUIRE(disk.load(fresh).ok());
  CHECK(all_answers(fresh, {"a"}) == before);
}

TEST_CASE("tables that replace others have no copy") {
  driver d;
  disk_copy disk;
  d.set("a", "1");
  disk.take(d);
  CHECK(d.m.take_unkept_changes(false).behind == d.index());
  machine fresh;
  for (auto& row : d.m.all_rows())
    fresh.load_row(std::move(row));
  fresh.finish_load(d.index(), d.now);
  CHECK_FALSE(fresh.take_unkept_changes(false).behind);
  CHECK(fresh.take_unkept_changes(false).behind == d.index());
  CHECK_FALSE(fresh.take_unkept_changes(true).behind);
}

TEST_CASE("a copy that does not fit is not used") {
  driver d;
  disk_copy disk;
  d.set("a", "1");
  d.set("b", "1");
  d.set("a", "2");
  disk.take(d);
  auto& kept = disk.kept();
  SECTION("one is missing that another continues") {
    kept.erase(kept.begin());
  }
  SECTION("the newest of a key is missing") {
    kept.erase(std::prev(kept.end()));
  }
  SECTION("an effect of an entry is missing") {
    auto last = kept.extract(std::prev(kept.end()));
    last.key().effect = 1;
    last.mapped().effect = 1;
    kept.insert(std::move(last));
  }
  SECTION("a row is another one") {
    auto& after = kept.rbegin()->second.change.after;
    auto other = *after;
    other.flags = 7;
    after = other;
  }
  SECTION("none has a key") {
    kept.rbegin()->second.change = {};
  }
  machine fresh;
  CHECK_FALSE(disk.load(fresh).ok());
  CHECK(fresh.changes_counted().floor == d.index());
  CHECK(fresh.changes_counted().count == 0);
}
