// Rows leave the machine for a checkpoint and return: nothing that decides a result is lost.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace belay;
using namespace belay::state;

namespace {

machine loaded(const std::vector<dirty_row>& rows, const machine& from) {
  machine m;
  for (const auto& row : rows)
    m.load_row(row);
  m.finish_load(from.applied_index(), from.now());
  return m;
}

std::vector<query> all_queries() {
  std::vector<query> q = {session_list{},
                          session_node{"n"},
                          catalog_nodes{},
                          catalog_services{},
                          health_state{"any", {}},
                          catalog_service{"web", {}, {}},
                          catalog_service{"gone", {}, {}},
                          catalog_node{"n"},
                          health_node{"n"},
                          health_checks{"web", {}},
                          health_service{"web", {}, {}, true},
                          kv_get{"missing"},
                          kv_list{"missing"},
                          kv_keys{"", "/"}};
  for (const auto* name : {"", "a", "a/", "a/b", "t", "t/", "t/a", "t/a/", "z"}) {
    q.push_back(kv_get{name});
    q.push_back(kv_list{name});
  }
  return q;
}

/// All kinds of rows, and traces of removed ones.
void fill(driver& d) {
  d.add_service("n", "w1", "web", {"x"});
  d.add_service("m", "g", "gone");
  d.drop("m", "g");
  d.add_check("n", "c", "passing", "w1");
  const auto held = d.open(1, 30000), ended = d.open(2, 30000, session_behavior::remove);
  d.set("a", "1");
  d.acquire("a/b", held);
  d.acquire("z", ended);
  d.set("t/a/1");
  d.remove("t/a/1");
  d.set("t/b");
  d.remove_tree("t/");
  d.close(ended);
}

using row_id = std::pair<std::uint8_t, std::string>;

} // namespace

TEST_CASE("load(all_rows): equal digest, equal answers, equal future") {
  driver d;
  fill(d);
  auto copy = loaded(d.m.all_rows(), d.m);
  CHECK(copy.digest() == d.m.digest());
  CHECK(copy.recompute_digest() == d.m.digest());
  CHECK(copy.take_dirty().empty());
  for (const auto& q : all_queries()) {
    CHECK(copy.evaluate(q).index == d.m.evaluate(q).index);
    CHECK(copy.index_of(q) == d.m.evaluate(q).index);
  }
  CHECK(copy.locked_out_until("z") == d.m.locked_out_until("z"));
  CHECK(copy.newest_tombstone() == d.m.newest_tombstone());

  // delay_survives_checkpoint (docs/internals/pitfalls.md C4): 29.999 s later the key is refused, then
  // granted; and a held lock is still released with its session.
  driver other;
  other.m = std::move(copy);
  for (auto* each : {&d, &other}) {
    each->now = cluster_time{1000};
    each->pass(29'999);
    CHECK_FALSE(each->acquire("z", uuid(1)));
    each->pass(1);
    CHECK(each->acquire("z", uuid(1)));
    each->close(uuid(1));
    CHECK(each->get("a/b")->session.empty());
    each->apply(tombstone_reap{log_index{9}});
  }
  CHECK(d.m.digest() == other.m.digest());
}

// The list had 800,000 keys, which the thread that serves clients freed at once.
TEST_CASE("the list of removed keys is not freed by the start of a checkpoint") {
  driver d;
  d.set("k");
  d.m.take_dirty();
  (void)d.m.tear_down(4096);
  d.remove("k");
  CHECK_FALSE(d.m.has_left_over());
  d.m.take_dirty();
  CHECK(d.m.has_left_over());
  CHECK(d.m.tear_down(1).size() == 1);
  CHECK_FALSE(d.m.has_left_over());
  d.set("k");
  d.m.take_dirty();
  CHECK_FALSE(d.m.has_left_over());
}

TEST_CASE("take_dirty accumulates to all_rows") {
  driver d;
  std::map<row_id, dirty_row> store;
  const auto drain = [&] {
    for (auto& row :
         d.m.take_dirty()) { // one that was removed with a tree and came back is there twice, the newer one last
      const row_id id{static_cast<std::uint8_t>(row.table), row.key};
      if (std::holds_alternative<std::monostate>(row.row))
        store.erase(id);
      else
        store[id] = std::move(row);
    }
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    seeded_random random(seed);
    fill(d);
    for (int step = 0; step < 300; ++step) {
      const std::string key = "a/" + std::to_string(random.below(20));
      switch (random.below(6)) {
      case 0:
        d.remove(key);
        break;
      case 1:
        d.remove_tree("a/1");
        break;
      case 2:
        d.apply(tombstone_reap{log_index{random.below(d.index().value)}});
        break;
      default:
        d.set(key, std::to_string(step));
      }
      d.pass(random.below(2000));
      if (random.below(10) == 0)
        drain();
    }
    drain();
    std::vector<dirty_row> rows;
    for (const auto& [id, row] : store)
      rows.push_back(row);
    auto copy = loaded(rows, d.m);
    CHECK(copy.digest() == d.m.digest());
    CHECK(copy.recompute_digest() == d.m.recompute_digest());
    CHECK(d.m.digest() == d.m.recompute_digest());
    CHECK(store.size() == d.m.all_rows().size());
  }
}

TEST_CASE("the digest distinguishes states that differ in one field, and does not depend on the order of writes") {
  driver a, b;
  a.set("x", "1");
  b.set("x", "2");
  CHECK(a.m.digest() != b.m.digest());

  driver c, e;
  for (auto* d : {&c, &e})
    d->m.skip(log_index{5}, cluster_time{1}, d->changed);
  txn forth, back;
  for (int i = 0; i < 20; ++i) {
    kv_op op;
    op.key = "k" + std::to_string(i);
    op.value = make_payload(std::to_string(i));
    forth.ops.push_back(op);
    back.ops.insert(back.ops.begin(), op);
  }
  c.apply(forth);
  e.apply(back);
  CHECK(c.m.digest() == e.m.digest());
  CHECK(c.m.digest() != 0);
}

TEST_CASE("expired lock delays leave no rows behind") {
  driver d;
  const auto s = d.open(1, 1000);
  d.acquire("k", s);
  d.close(s);
  const auto rows = d.m.all_rows().size();
  d.pass(1000);
  d.m.skip(d.index().next(), d.now, d.changed);
  CHECK(d.m.all_rows().size() == rows - 1);
  CHECK(d.m.digest() == d.m.recompute_digest());
}
