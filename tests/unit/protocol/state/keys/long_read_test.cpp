// Long reads: rows of one moment, whatever is written between their slices.

#include "protocol/base/random.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

constexpr std::size_t rows_written = 2 * long_read::rows_min_usual;

void write_many(driver& d) {
  txn t;
  for (std::size_t i = 0; i < rows_written; ++i) {
    t.ops.push_back(op_on(kv_verb::set, (i % 2 == 0 ? "a/" : "b/") + std::to_string(i % 7) + '/' + std::to_string(i)));
    if (t.ops.size() == 4096) {
      d.apply(t);
      t.ops.clear();
    }
  }
  if (!t.ops.empty())
    d.apply(t);
}

template <class Answer>
bool same_answers(const query_result& a, const query_result& b) {
  const auto& x = std::get<Answer>(a.data);
  const auto& y = std::get<Answer>(b.data);
  if constexpr (std::is_same_v<Answer, kv_entries>)
    return a.index == b.index && x.entries == y.entries;
  else
    return a.index == b.index && x.keys == y.keys;
}

/// Writes of all kinds during the read.
query_result read_beside_writes(driver& d, long_read& read) {
  seeded_random random(1);
  for (int step = 0; !read.go_on(1 + random.below(2000)); ++step) {
    const auto key = "a/" + std::to_string(random.below(7)) + '/' + std::to_string(random.below(rows_written));
    if (step == 9)
      d.remove_tree("a/3/");
    else if (step % 3 == 0)
      d.remove(key);
    else
      d.set(key, std::to_string(step));
    d.m.tear_down(100);
  }
  return read.take();
}

} // namespace

TEST_CASE("a long read says what a read at once would have said when it began") {
  for (const query& q : {query(kv_list{""}), query(kv_list{"a/"}), query(kv_keys{"", ""}), query(kv_keys{"a/", ""}),
                         query(kv_keys{"", "/"}), query(kv_keys{"a/", "/"}), query(kv_keys{"", "7"})}) {
    driver d;
    write_many(d);
    const auto at_once = d.m.evaluate(q);
    auto read = d.m.begin_long_read(q);
    if (read == nullptr)
      continue; // a part of the keys is not long
    const auto found = read_beside_writes(d, *read);
    if (std::holds_alternative<kv_list>(q))
      CHECK(same_answers<kv_entries>(found, at_once));
    else
      CHECK(same_answers<key_names>(found, at_once));
    CHECK_FALSE(d.m.recount());
    CHECK(d.m.digest() == d.m.recompute_digest());
  }
}

TEST_CASE("short reads are no long ones") {
  driver d;
  d.set("a");
  CHECK(d.m.begin_long_read(kv_list{""}) == nullptr);
  CHECK(d.m.begin_long_read(kv_get{"a"}) == nullptr);
  CHECK(d.m.begin_long_read(kv_keys{"", ""}) == nullptr);
}
