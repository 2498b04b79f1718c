// Cursors that name their history. A client keeps a cursor, the cluster is lost and formed again
// from a backup, and the new indexes pass the cursor. A client that resumed there would miss
// everything before it without noticing.

#include "protocol/state/changes/history.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace belay;
using namespace belay::state;

namespace {

constexpr std::uint64_t cluster = 0x1111'2222'3333'4444, other_cluster = 0x1111'2222'3333'4445;

using requested_for = kv_changes::what;

change_rows read(const machine& m, std::uint64_t after, history_id history,
                 requested_for what = requested_for::changes) {
  kv_changes q{{""}, change_position{log_index{after}}, what};
  q.history = history;
  return std::get<change_rows>(m.evaluate(q).data);
}

bool foreign(const change_rows& rows) {
  return rows.gone && rows.other_history;
}

/// Restores the present state, as from an archive.
void restore(driver& d) {
  const auto rows = std::make_shared<const std::vector<dirty_row>>(d.m.all_rows());
  d.apply(restore_begin{"r" + to_string(d.index()), d.index()});
  const auto id = "r" + to_string(d.index().prev());
  d.apply(restore_rows{id, 0, rows});
  d.apply(restore_commit{id, 1});
  REQUIRE(d.m.restored_at() == d.index());
}

} // namespace

TEST_CASE("a history identifies a cluster and its newest restore") {
  const auto born = history_id::of(cluster, {});
  CHECK(born == history_id::of(cluster, {}));
  CHECK(born != history_id::of(other_cluster, {}));
  CHECK(born != history_id::of(cluster, log_index{7}));
  CHECK(born.same_cluster(history_id::of(cluster, log_index{7})));
  CHECK_FALSE(born.same_cluster(history_id::of(other_cluster, {})));
  CHECK_FALSE(born.is_none());
  CHECK(to_string(history_id{0x9f3c'2a1b'0000'0007}) == "9f3c2a1b00000007");
  // The two halves of a formed cluster's id differ by a constant: all bits must
  // count.
  std::set<std::uint64_t> hashes;
  seeded_random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto half = random.below(std::uint64_t{1} << 32);
    hashes.insert(history_id::of(half << 32 | (half ^ 0x5bd1e995U), {}).value());
  }
  CHECK(hashes.size() == 2000);
  for (const auto value : hashes)
    CHECK(history_id{value} != history_id::unreadable());
}

TEST_CASE("cursors are written and read") {
  const auto history = history_id{0x9f3c'2a1b'0000'0007};
  for (const auto& c : {change_cursor{{log_index{4711}, 0}, {}}, change_cursor{{log_index{4711}, 3}, history},
                        change_cursor{change_position{log_index{1}}, history}}) {
    INFO(to_string(c));
    CHECK(read_cursor(to_string(c)) == c);
  }
  CHECK(to_string(change_cursor{{log_index{4711}, 3}, history}) == "4711.3@9f3c2a1b00000007");
  CHECK(to_string(change_cursor{change_position{log_index{4711}}, {}}) == "4711");
  CHECK(read_cursor("0")->position.index.is_zero());
  for (const auto* wrong :
       {"", "x", "1.", "1.-2", "1.2.3", "1.2@", "1.2@9f3c", "1.2@9f3c2a1b0000000g", "@9f3c2a1b00000007",
        "1.2@0000000000000000", "1.2@9f3c2a1b00000007 ", " 1", "18446744073709551616"}) {
    INFO(wrong);
    CHECK_FALSE(read_cursor(wrong));
  }
}

TEST_CASE("a cursor of another cluster is gone at once, wherever it is") {
  driver d;
  d.m.set_history({cluster, true});
  for (int i = 0; i < 5; ++i)
    d.set("a", std::to_string(i));
  const auto strange = history_id::of(other_cluster, {});
  for (const std::uint64_t after : {1, 3, 5, 6, 1'000'000})
    for (const auto what : {requested_for::changes, requested_for::snapshot}) {
      INFO(after);
      const auto found = read(d.m, after, strange, what);
      CHECK(foreign(found));
      CHECK(found.rows.empty());
      CHECK(found.list.empty());
      CHECK(found.reached == change_position{d.index()}); // what a client of 0.2.0 compares with its own
    }
  CHECK(foreign(read(d.m, 1, history_id::unreadable())));
  const auto own = read(d.m, 2, d.m.history());
  CHECK_FALSE(own.gone);
  CHECK(own.list.size() == 3);
  CHECK(own.history == d.m.history());
  // The changes of a key belong to one history, too.
  CHECK(foreign(std::get<change_rows>(d.m.evaluate(kv_at{"a", log_index{3}, strange}).data)));
  CHECK(std::holds_alternative<kv_entries>(d.m.evaluate(kv_at{"a", log_index{3}, d.m.history()}).data));
  CHECK(std::holds_alternative<kv_entries>(d.m.evaluate(kv_at{"a", log_index{3}}).data));
  CHECK(std::get<change_rows>(d.m.evaluate(kv_history{"a"}).data).history == d.m.history());

  REQUIRE(activate_mutant("cursor_of_any_history_taken"));
  CHECK_FALSE(foreign(read(d.m, 3, strange)));
  activate_mutant("");
}

TEST_CASE("a cursor from before a restore is gone; one of a restore that is not applied yet waits") {
  driver d, behind;
  for (auto* each : {&d, &behind}) {
    each->m.set_history({cluster, true});
    each->set("a");
  }
  const auto before = d.m.history();
  restore(d);
  d.set("a", "2");
  const auto after = d.m.history();
  CHECK(before != after);
  CHECK(before.same_cluster(after));
  CHECK(foreign(read(d.m, 1, before)));
  CHECK(foreign(read(d.m, d.index().value, before))); // it names a history that had ended by then
  CHECK_FALSE(read(d.m, d.index().value, after).gone);
  // A server that has not applied the restore does not know whether there was one.
  const auto waits = read(behind.m, d.index().value, after);
  CHECK(waits.nothing_yet());
  CHECK(waits.reached == change_position{d.index()});
  CHECK(waits.applied < d.index());
  // When it has applied as much without one, the cursor belongs to another past of this cluster:
  // from directories that were copied back.
  while (behind.index() < d.index())
    behind.set("b", to_string(behind.index()));
  CHECK(foreign(read(behind.m, d.index().value, after)));
  // It survives a checkpoint.
  machine fresh;
  for (auto& row : d.m.all_rows())
    fresh.load_row(std::move(row));
  fresh.finish_load(d.index(), d.now);
  fresh.set_history({cluster, true});
  CHECK(fresh.history() == after);
}

TEST_CASE("a server that does not know its cluster yet waits with a cursor that names one") {
  driver d;
  for (int i = 0; i < 5; ++i)
    d.set("a", std::to_string(i));
  CHECK(d.m.history().is_none());
  const auto waits = read(d.m, 2, history_id::of(cluster, {}));
  CHECK(waits.nothing_yet());
  CHECK(waits.applied < log_index{2});
  CHECK(read(d.m, 2, {}).list.size() == 3);
}

TEST_CASE("histories are named to clients only if every member can read that") {
  driver d;
  d.m.set_history({cluster, false});
  d.set("a");
  CHECK(read(d.m, 0, {}, requested_for::position).history.is_none());
  CHECK(read(d.m, 0, {}, requested_for::snapshot).history.is_none());
  CHECK(foreign(read(d.m, 1, history_id::of(other_cluster, {})))); // earlier named ones are checked nevertheless
  d.m.set_history({cluster, true});
  for (const auto what : {requested_for::position, requested_for::snapshot, requested_for::changes})
    CHECK(read(d.m, 1, {}, what).history == d.m.history());
  // It is not part of what servers agree on.
  driver plain;
  plain.set("a");
  CHECK(plain.m.digest() == d.m.digest());
  restore(d);
  CHECK(read(d.m, 0, {}, requested_for::position).history == d.m.history()); // and stays known
}
