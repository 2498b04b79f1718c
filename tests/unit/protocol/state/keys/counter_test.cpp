// docs/reference/exactly-once.md, "Counters".

#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay;
using namespace belay::state;

namespace {

constexpr auto largest = std::numeric_limits<std::int64_t>::max();
constexpr auto smallest = std::numeric_limits<std::int64_t>::min();

std::string adds(driver& d, const std::string& key, std::int64_t amount, std::optional<std::int64_t> min = {},
                 std::optional<std::int64_t> max = {}) {
  kv_op op;
  op.verb = kv_verb::add;
  op.key = key;
  op.amount = amount;
  op.min = min;
  op.max = max;
  const auto r = d.apply(kv_write{op});
  if (const auto* sum = std::get_if<kv_added>(&r))
    return std::to_string(sum->value);
  return std::get<bool>(r) ? "true" : std::string(name_of(r.note.why));
}

} // namespace

TEST_CASE("add: table") {
  struct row {
    const char* name;
    const char* before; ///< null: no key
    std::int64_t amount;
    std::optional<std::int64_t> min, max;
    std::string after;
  };
  const row rows[] = {
      {"nothing there is zero", nullptr, 5, {}, {}, "5"},
      {"below zero", nullptr, -5, {}, {}, "-5"},
      {"a number", "41", 1, {}, {}, "42"},
      {"one with zeros before it", "007", 1, {}, {}, "8"},
      {"no number", "x", 1, {}, {}, "value"},
      {"an empty value", "", 1, {}, {}, "value"},
      {"blanks", " 1", 1, {}, {}, "value"},
      {"a plus", "+1", 1, {}, {}, "value"},
      {"a fraction", "1.5", 1, {}, {}, "value"},
      {"too many digits", "9223372036854775808", 1, {}, {}, "value"},
      {"up to the largest", "9223372036854775806", 1, {}, {}, std::to_string(largest)},
      {"beyond it", "9223372036854775807", 1, {}, {}, "bounds"},
      {"beyond the smallest", "-9223372036854775808", -1, {}, {}, "bounds"},
      {"the smallest from zero", nullptr, smallest, {}, {}, std::to_string(smallest)},
      {"down to min", "3", -3, 0, {}, "0"},
      {"below min", "3", -4, 0, {}, "bounds"},
      {"up to max", "99", 1, {}, 100, "100"},
      {"above max", "100", 1, {}, 100, "bounds"},
      {"nothing there, above max", nullptr, 101, {}, 100, "bounds"},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    driver d;
    if (r.before != nullptr)
      d.set("k", r.before);
    const auto modified = d.get("k") ? d.get("k")->modify_index : log_index{};
    CHECK(adds(d, "k", r.amount, r.min, r.max) == r.after);
    const auto entry = d.get("k");
    if (r.after == "value" || r.after == "bounds")
      CHECK((entry ? entry->modify_index : log_index{}) == modified);
    else
      CHECK(*entry->value == r.after);
  }
}

TEST_CASE("add keeps flags and holder") {
  driver d;
  const auto s = d.open(1);
  d.set("k", "1", 77);
  d.write(kv_verb::lock, "k", "1", 77, 0, s);
  const auto fence = d.get("k")->fence;
  CHECK(adds(d, "k", 1) == "2");
  CHECK(d.get("k")->session == s);
  CHECK(d.get("k")->flags == 77);
  CHECK(d.get("k")->fence == fence);
}

TEST_CASE("add in a transaction returns the sum; a rejected one undoes the transaction") {
  driver d;
  kv_op add;
  add.verb = kv_verb::add;
  add.key = "n";
  add.amount = 3;
  txn t;
  t.ops = {add, add};
  const auto done = std::get<txn_reply>(d.apply(t));
  REQUIRE(done.results.size() == 2);
  CHECK(done.results[1].with_value);
  CHECK(*std::get<kv_entry_ptr>(done.results[1].row)->value == "6");
  add.max = 8;
  t.ops = {add, add};
  const auto refused = std::get<txn_reply>(d.apply(t));
  REQUIRE(refused.errors.size() == 2); // each is checked
  CHECK(refused.errors[0].what == "failed to add to key \"n\", the sum is out of bounds");
  CHECK(*d.get("n")->value == "6");
  d.set("n", "x");
  CHECK(std::get<txn_reply>(d.apply(t)).errors[0].what ==
        "failed to add to key \"n\", its value is no decimal number of 64 bits");
}

TEST_CASE("a session may leave an add to be done") {
  driver d;
  d.add_node("n");
  session_begin c;
  c.session.id = uuid(1);
  c.session.node = "n";
  kv_op add;
  add.verb = kv_verb::add;
  add.key = "gone";
  add.amount = 1;
  c.on_end = {add};
  CHECK(std::get<std::string>(d.apply(c)) == uuid(1));
  d.close(uuid(1));
  CHECK(*d.get("gone")->value == "1");
}
