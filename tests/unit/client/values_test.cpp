// Comparisons: versions, copies, keys as they were read.
#include "tests/unit/client/crew.hpp"

#include <belay/diff.hpp>
#include <belay/keys.hpp>
#include <belay/version_vector.hpp>

using namespace belay;
using namespace belay::client_tests;

namespace {

version_vector drawn(virtual_time::tape& chance) {
  version_vector v;
  for (const auto* site : {"a", "b", "c"})
    for (auto n = chance.draw(3); n > 0; --n)
      v.count(site);
  return v;
}

/// The laws that make the order and the number of deliveries irrelevant.
finding run_algebra(std::uint64_t seed) {
  virtual_time::tape chance(seed);
  auto a = drawn(chance);
  auto b = drawn(chance);
  auto c = drawn(chance);
  if (a.merged(b) != b.merged(a))
    return "merging depends on the order";
  if (a.merged(b).merged(c) != a.merged(b.merged(c)))
    return "merging depends on the grouping";
  if (a.merged(a) != a || a.merged(b).merged(b) != a.merged(b))
    return "merging twice is not merging once";
  auto with = a.compare(a.merged(b));
  if (with != version_order::equal && with != version_order::before)
    return "what was merged has not seen everything";
  auto there = a.compare(b);
  auto back = b.compare(a);
  bool mirrored = (there == version_order::before) == (back == version_order::after) &&
                  (there == version_order::concurrent) == (back == version_order::concurrent) &&
                  (there == version_order::equal) == (a == b);
  if (!mirrored)
    return "two do not agree which is later";
  if (version_vector::parse(a.text()) != a)
    return "its text says something else";
  return {};
}

std::string named(const std::vector<difference>& all) {
  std::string out;
  for (const auto& d : all)
    out += std::string(name_of(d.kind)) + " " + d.key + "; ";
  return out;
}

/// Divergence, another value and other flags are found; changes in flight are not reported.
finding run_diff(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed);
  for (int i = 0; i < 20; ++i) {
    c.server.put("a/" + std::to_string(i), "v");
    c.server.put("b/" + std::to_string(i), "v");
  }
  c.server.erase("a/3");
  c.server.erase("b/4");
  c.server.put("b/5", "w");
  request flags("PUT", "/v1/kv/b/6");
  flags.query("flags", "7").body("v");
  auto sent_request = [](environment& env, const request& q, instant until) -> task<answer> {
    answer a = co_await ask(env, q, until);
    co_return a;
  };
  c.run(sent_request(c.client, flags, c.client.now() + seconds(5)));
  c.server.erase("b/8");
  auto comparing = diff(c.client, "a/", c.client, "b/", c.within(minutes(1)));
  comparing.start();
  c.pass(milliseconds(500));
  c.server.put("b/8", "v");
  c.pass(seconds(30));
  if (!comparing.done())
    return "it has not ended";
  auto all = comparing.take();
  if (!all)
    return all.error().text();
  auto text = named(*all);
  return text == "MissingDelete 3; PhantomUndelete 4; OtherValue 5; OtherValue 6; " ? "" : text;
}

/// Another client writes between the read and the erasure; responses are lost.
finding run_erasing(std::uint64_t seed) {
  virtual_time::fault_rates rates;
  rates.answer_lost = 300'000;
  virtual_cluster c(dialect::consul, seed, rates);
  c.server.put("k", "1");
  auto seen = c.run(read_key(c.client, "k", c.within(minutes(5))));
  if (!seen || !seen->found)
    return "not read";
  bool meanwhile = seed % 2 == 0;
  if (meanwhile)
    c.server.put("k", "2");
  auto done = c.run(erase_if(c.client, "k", seen->found->index, c.within(minutes(5))));
  bool there = c.server.value("k").has_value();
  if (meanwhile)
    return there ? "" : "something was erased that was not seen";
  if (done && *done == erased::absent && !there)
    return "it was erased, and told to have been absent";
  return {};
}

finding run_erasing_trees(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed);
  for (int i = 0; i < 5; ++i)
    c.server.put("t/" + std::to_string(i), "v");
  auto seen = c.run(read_tree(c.client, "t/", c.within(minutes(1))));
  c.server.put("t/3", "w");
  auto first = c.run(erase_tree_if(c.client, "t/", seen->index, c.within(minutes(1))));
  if (!first || *first != erased::conflict || c.server.all("t/").size() != 5)
    return "a tree was erased that had changed";
  auto again = c.run(read_tree(c.client, "t/", c.within(minutes(1))));
  auto second = c.run(erase_tree_if(c.client, "t/", again->index, c.within(minutes(1))));
  return second && *second == erased::erased && c.server.all("t/").empty() ? "" : "the tree is there";
}

} // namespace

TEST_CASE("versions have an order, and histories are merged", "[client]") {
  check_seeds(300, run_algebra);
  for (const auto* bad : {"a", "a=", "=1", "a=0", "a=1,", "a=1,a=2", "a=x"})
    CHECK_FALSE(version_vector::parse(bad));
  versioned one("x", *version_vector::parse("a=2"));
  versioned two(std::nullopt, *version_vector::parse("a=1,b=1"));
  versioned gone(std::nullopt, *version_vector::parse("c=1"));
  auto keep = [](const std::optional<std::string>& x, const std::optional<std::string>& y) { return y ? y : x; };
  CHECK(merge(one, two, keep) == merge(two, one, keep));
  CHECK(merge(one, two, keep).value == "x");
  CHECK(merge(one, two, keep).version.text() == "a=2,b=1");
  CHECK(merge(two, gone, keep).value == std::nullopt);
  CHECK(merge(two, gone, keep).version.text() == "a=1,b=1,c=1");
}

TEST_CASE("copies are compared, and digests differ where they do", "[client]") {
  check_seeds(10, run_diff);
  key_digests a;
  key_digests b;
  for (const auto* key : {"x", "y", "z"})
    a.add(key, "v", 0);
  for (const auto* key : {"z", "x", "y"})
    b.add(key, "v", 0);
  CHECK(a == b);
  b.add("w", "v", 0);
  CHECK(a.differing(b) == std::vector<std::size_t>{key_digests::slot_of("w")});
}

TEST_CASE("keys are erased as they were seen, under faults too", "[client][faults]") {
  check_seeds(40, run_erasing);
  check_seeds(10, run_erasing_trees);
}

TEST_CASE("known bugs of comparisons are found by seeds", "[client][faults]") {
  check_that_found({
      {"concurrent_is_later", run_algebra},
      {"histories_added", run_algebra},
      {"own_history_kept", run_algebra},
      {"extra_keys_ignored", run_diff},
      {"flags_not_compared", run_diff},
      {"moving_keys_reported", run_diff},
      {"erased_unseen", run_erasing},
      {"erased_unseen", run_erasing_trees},
      {"lost_erase_told_absent", run_erasing},
  });
}
