#include "protocol/base/random.hpp"
#include "sim/checkers/linearizability.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace belay;
using namespace belay::sim;

namespace {

using std::chrono::microseconds;

register_op make(register_verb verb, int from, int to) {
  static std::uint64_t ids = 0;
  register_op op;
  op.id = ++ids;
  op.key = "k";
  op.verb = verb;
  op.invoked = microseconds(from);
  op.returned = microseconds(to);
  return op;
}
register_op put(std::string v, int from, int to) {
  auto op = make(register_verb::put, from, to);
  op.value = std::move(v);
  return op;
}
register_op removed(int from, int to) {
  return make(register_verb::remove, from, to);
}
register_op saw(std::optional<std::string> v, int from, int to) {
  auto op = make(register_verb::read, from, to);
  op.observed = std::move(v);
  return op;
}
register_op cas(std::optional<std::string> expected, std::string v, bool ok, int from, int to) {
  auto op = make(register_verb::cas, from, to);
  op.expected.value = std::move(expected);
  op.value = std::move(v);
  op.succeeded = ok;
  return op;
}
register_op remove_cas(std::optional<std::string> expected, bool ok, int from, int to) {
  auto op = make(register_verb::remove_cas, from, to);
  op.expected.value = std::move(expected);
  op.succeeded = ok;
  return op;
}
register_op with(outcome result, register_op op) {
  op.result = result;
  return op;
}
register_op unknown(register_op op) {
  return with(outcome::unknown, std::move(op));
}

bool fine(const std::vector<register_op>& history) {
  const auto r = check_linearizability(history);
  REQUIRE(r.finding != linearizable::gave_up);
  return r.finding == linearizable::yes;
}

// ---- the same question, answered by trying every order

using content = std::optional<std::string>;

/// Applies `op` to the register. @returns false: its result is impossible. An op of unknown outcome
/// may have any result.
bool take(const register_op& op, content& now) {
  const bool known = op.result == outcome::done;
  const bool meets = op.expected.anything ? now.has_value() : now == op.expected.value;
  if (op.verb == register_verb::put)
    now = op.value;
  else if (op.verb == register_verb::remove)
    now.reset();
  else if (op.verb == register_verb::read)
    return !known || now == op.observed;
  else {
    const bool hit = meets || (op.verb == register_verb::remove_cas && !now);
    if (known && hit != op.succeeded)
      return false;
    if (hit)
      now = op.verb == register_verb::cas ? content(op.value) : content();
  }
  return true;
}

bool some_order(const std::vector<register_op>& ops, std::vector<bool>& used, const content& now) {
  bool complete = true;
  for (std::size_t i = 0; i < ops.size(); ++i)
    complete = complete && (used[i] || ops[i].result != outcome::done);
  if (complete)
    return true;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (used[i])
      continue;
    const bool late = [&] { // another op was done before this one began and is still not in order
      for (std::size_t j = 0; j < ops.size(); ++j)
        if (!used[j] && ops[j].result == outcome::done && ops[j].returned < ops[i].invoked)
          return true;
      return false;
    }();
    content then = now;
    if (late || !take(ops[i], then))
      continue;
    used[i] = true;
    if (some_order(ops, used, then))
      return true;
    used[i] = false;
  }
  return false;
}

bool fine_by_force(const std::vector<register_op>& history) {
  std::vector<register_op> ops;
  for (const auto& op : history)
    if (op.result != outcome::refused)
      ops.push_back(op);
  std::vector<bool> used(ops.size());
  return some_order(ops, used, {});
}

// ---- histories of a real register

class generator {
public:
  explicit generator(std::uint64_t seed) : random_(seed) {}

  /// Clients send one request after the other; each takes effect at a moment between its beginning
  /// and end. Some responses get lost; some of these requests had no effect.
  std::vector<register_op> history(std::size_t count, std::size_t clients, std::uint64_t lost_percent) {
    struct planned {
      register_op op;
      int effect = 0;
    };
    std::vector<planned> plan;
    std::vector<int> free_at(clients, 0);
    for (std::size_t i = 0; i < count; ++i) {
      auto& t = free_at[i % clients];
      const int from = t + static_cast<int>(below(30));
      const int effect = from + static_cast<int>(below(40));
      const int to = effect + static_cast<int>(below(40));
      t = to + 1;
      plan.push_back({draw(from, to, i), effect});
    }
    std::stable_sort(plan.begin(), plan.end(), [](const auto& a, const auto& b) { return a.effect < b.effect; });
    std::vector<register_op> found;
    content now;
    std::vector<std::string> values = {"never written"};
    for (auto& p : plan) {
      auto& op = p.op;
      const bool lost = below(100) < lost_percent;
      if (op.verb == register_verb::cas || op.verb == register_verb::remove_cas) {
        // Mostly the current value, so that many succeed.
        op.expected.value = below(4) == 0 ? content(values[below(values.size())]) : now;
        const bool hit = now == op.expected.value || (op.verb == register_verb::remove_cas && !now);
        op.succeeded = hit;
      }
      op.observed = now;
      if (!lost || below(2) == 0) {
        op.result = outcome::done;
        REQUIRE(take(op, now));
        if (now)
          values.push_back(*now);
      }
      if (lost)
        op.result = outcome::unknown;
      found.push_back(op);
    }
    return found;
  }

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

private:
  register_op draw(int from, int to, std::size_t i) {
    switch (below(8)) {
    case 0:
    case 1:
      return put("v" + std::to_string(i), from, to);
    case 2:
      return cas({}, "v" + std::to_string(i), true, from, to);
    case 3:
      return below(2) == 0 ? removed(from, to) : remove_cas({}, true, from, to);
    default:
      return saw({}, from, to);
    }
  }

  seeded_random random_;
};

} // namespace

TEST_CASE("linearizability: one valid history and one invalid one, for each rule") {
  struct row {
    const char* rule;
    std::vector<register_op> good, bad;
  };
  const std::vector<row> rows = {
      {"a read sees what was put before", {put("a", 0, 10), saw("a", 20, 30)}, {put("a", 0, 10), saw({}, 20, 30)}},
      {"while a put goes on, both are possible, but no way back",
       {put("a", 0, 100), saw({}, 10, 20), saw("a", 30, 40)},
       {put("a", 0, 100), saw("a", 10, 20), saw({}, 30, 40)}},
      {"nothing comes from nowhere", {saw({}, 0, 10)}, {saw("a", 0, 10)}},
      {"a put has its effect before its end",
       {put("a", 0, 10), put("b", 5, 30), saw("b", 31, 40)},
       {put("a", 0, 10), put("b", 11, 30), saw("a", 31, 40)}},
      {"what touches in time may have overlapped",
       {put("a", 0, 10), saw({}, 10, 20)},
       {put("a", 0, 10), saw({}, 11, 20)}},
      {"cas needs what it expects",
       {put("a", 0, 10), cas("a", "b", true, 20, 30), saw("b", 40, 50)},
       {put("a", 0, 10), cas("x", "b", true, 20, 30)}},
      {"cas may only fail for a reason",
       {put("a", 0, 10), cas("x", "b", false, 20, 30)},
       {put("a", 0, 10), cas("a", "b", false, 20, 30)}},
      {"of two cas from the same, one succeeds",
       {put("a", 0, 1), cas("a", "b", true, 2, 20), cas("a", "c", false, 2, 20)},
       {put("a", 0, 1), cas("a", "b", true, 2, 20), cas("a", "c", true, 2, 20)}},
      {"create only once", {cas({}, "a", true, 0, 10)}, {cas({}, "a", true, 0, 10), cas({}, "b", true, 20, 30)}},
      {"a delete that could have been early may have been late",
       {removed(0, 100), put("a", 10, 20), saw({}, 30, 40)},
       {removed(0, 5), put("a", 10, 20), saw({}, 30, 40)}},
      {"delete if unchanged: a missing key is fine, another value is not",
       {remove_cas("x", true, 0, 10), put("a", 20, 30), remove_cas("a", true, 40, 50), saw({}, 60, 70)},
       {put("a", 20, 30), remove_cas("x", true, 40, 50)}},
      {"delete if unchanged may not fail on a missing key",
       {put("a", 0, 10), remove_cas("x", false, 20, 30)},
       {remove_cas("x", false, 20, 30)}},
      {"refused has no effect",
       {with(outcome::refused, put("a", 0, 10)), saw({}, 20, 30)},
       {with(outcome::refused, put("a", 0, 10)), saw("a", 20, 30)}},
      {"unknown may come late, and then stays",
       {unknown(put("a", 0, 10)), saw({}, 20, 30), saw("a", 40, 50)},
       {unknown(put("a", 0, 10)), saw("a", 20, 30), saw({}, 40, 50)}},
      {"unknown has its effect once at most",
       {unknown(put("a", 0, 10)), put("b", 20, 30), saw("a", 40, 50)},
       {unknown(put("a", 0, 10)), saw("a", 15, 16), put("b", 20, 30), saw("a", 40, 50)}},
      {"unknown not before its begin",
       {unknown(put("a", 0, 10)), saw("a", 20, 30)},
       {saw("a", 0, 10), unknown(put("a", 20, 30))}},
      {"a write that nobody saw may explain a failed cas, but is not for nothing",
       {put("a", 0, 1), unknown(put("b", 2, 3)), cas("a", "c", false, 4, 5)},
       {put("a", 0, 1), unknown(put("b", 6, 7)), cas("a", "c", false, 4, 5)}},
  };
  for (const auto& r : rows) {
    INFO(r.rule);
    CHECK(fine(r.good));
    CHECK(fine_by_force(r.good));
    CHECK_FALSE(fine(r.bad));
    CHECK_FALSE(fine_by_force(r.bad));
  }
}

TEST_CASE("linearizability: keys are checked separately, the text names the operations of the bad one") {
  auto other = saw("lost", 100, 110);
  other.key = "other";
  auto before = put("kept", 0, 10);
  before.key = "other";
  std::vector<register_op> history = {put("a", 0, 10), before, other, saw("a", 20, 30)};
  const auto r = check_linearizability(history);
  CHECK(r.finding == linearizable::no);
  CHECK(r.key == "other");
  CHECK(r.text.find("read \"lost\"") != std::string::npos);
  CHECK(r.text.find("\"a\"") == std::string::npos);
}

TEST_CASE("linearizability: the window leaves out irrelevant operations") {
  std::vector<register_op> history;
  for (int i = 0; i < 200; ++i)
    history.push_back(put("v" + std::to_string(i), i * 10, i * 10 + 5));
  history.push_back(saw("v150", 2001, 2004));
  history.push_back(saw("v199", 2010, 2014));
  const auto r = check_linearizability(history);
  REQUIRE(r.finding == linearizable::no);
  CHECK(r.text.find("put \"v199\"") != std::string::npos);
  CHECK(r.text.find("read \"v150\"") != std::string::npos);
  CHECK(r.text.find("read \"v199\"") == std::string::npos); // after the end that cannot be passed
  CHECK(std::count(r.text.begin(), r.text.end(), '\n') <= 3);
}

TEST_CASE("linearizability: a search that runs out of steps says so") {
  std::vector<register_op> history;
  for (int i = 0; i < 12; ++i) {
    history.push_back(put("v" + std::to_string(i), 0, 100));
    history.push_back(saw("v" + std::to_string(i), 200, 300));
  }
  CHECK(check_linearizability(history, 20).finding == linearizable::gave_up);
  CHECK(check_linearizability(history).finding == linearizable::no);
}

TEST_CASE("linearizability: agrees with trying every order, on small histories") {
  generator g(1);
  std::size_t good = 0, bad = 0;
  for (int round = 0; round < 3000; ++round) {
    auto history = g.history(2 + g.below(6), 1 + g.below(4), 25);
    for (auto& op : history) { // falsify about every second history
      if (g.below(4) != 0)
        continue;
      if (op.verb == register_verb::read)
        op.observed = g.below(2) == 0 ? content() : content("v" + std::to_string(g.below(6)));
      else
        op.succeeded = op.verb == register_verb::put || op.verb == register_verb::remove || !op.succeeded;
    }
    const bool expected = fine_by_force(history);
    INFO("round " << round);
    REQUIRE(fine(history) == expected);
    ++(expected ? good : bad);
  }
  CHECK(good > 500);
  CHECK(bad > 500);
}

TEST_CASE("linearizability: long histories of a real register are fine, one false answer is noticed") {
  generator g(2);
  for (int round = 0; round < 10; ++round) {
    auto history = g.history(2000, 8, round % 2 == 0 ? 0 : 2);
    INFO("round " << round);
    const auto r = check_linearizability(history);
    INFO(r.text);
    REQUIRE(r.finding == linearizable::yes);

    // A value that was gone before this read began: written and overwritten long before.
    std::vector<std::size_t> reads;
    for (std::size_t i = 1000; i < history.size(); ++i)
      if (history[i].verb == register_verb::read && history[i].result == outcome::done)
        reads.push_back(i);
    auto& victim = history[reads[g.below(reads.size())]];
    victim.observed = "v5 of another life";
    CHECK(check_linearizability(history).finding == linearizable::no);
    // Several puts ended after the first and before the read: it cannot be the last one.
    const auto first = std::find_if(history.begin(), history.end(), [](const register_op& op) {
      return op.verb == register_verb::put && op.result == outcome::done;
    });
    victim.observed = first->value;
    CHECK(check_linearizability(history).finding == linearizable::no);
  }
}

// ---- from operations of the simulator

namespace {

class register_story {
public:
  register_story& write(state::kv_verb verb, std::string key, std::string value, std::uint64_t index, outcome result,
                        bool answer = true) {
    auto& o = next();
    state::kv_op op;
    op.verb = verb;
    op.key = std::move(key);
    op.value = make_payload(std::move(value));
    op.index = log_index{index};
    o.write = state::kv_write{op};
    o.result = result;
    o.reply = answer;
    return *this;
  }
  register_story& read(std::string key, std::optional<std::string> value, std::uint64_t modified,
                       http::consistency mode = http::consistency::normal) {
    auto& o = next();
    o.read.emplace();
    o.read->query = state::kv_get{key};
    o.read->mode = mode;
    o.result = outcome::done;
    state::kv_entries found;
    if (value) {
      state::kv_draft e;
      e.key = std::move(key);
      e.value = make_payload(*value);
      e.modify_index = log_index{modified};
      found.entries.push_back(e);
    }
    o.answer = state::query_result{log_index{std::max<std::uint64_t>(modified, 1)}, found};
    return *this;
  }
  register_story& txn(std::string key) {
    auto& o = next();
    state::kv_op op;
    op.key = std::move(key);
    op.value = make_payload("by txn");
    state::txn t;
    t.ops.push_back(op);
    o.write = t;
    o.result = outcome::done;
    o.reply = state::txn_reply{};
    return *this;
  }
  bool is_fine(bool trust_lease = true) const { return fine(register_history(ops_, trust_lease)); }

private:
  operation& next() {
    auto& o = ops_.emplace_back();
    o.id = ops_.size();
    o.invoked = microseconds(o.id * 10);
    o.returned = o.invoked + microseconds(5);
    return o;
  }
  std::deque<operation> ops_;
};

} // namespace

TEST_CASE("linearizability: operations of the simulator become operations on registers") {
  using state::kv_verb;
  const auto done = outcome::done;
  const auto start = register_story().write(kv_verb::set, "k", "a", 0, done).read("k", "a", 7);

  CHECK(register_story(start).write(kv_verb::cas, "k", "b", 7, done).read("k", "b", 8).is_fine());
  CHECK_FALSE(register_story(start).write(kv_verb::cas, "k", "b", 7, done, false).is_fine());
  CHECK_FALSE(register_story(start).write(kv_verb::cas, "k", "b", 0, done).is_fine());
  CHECK(register_story(start).write(kv_verb::cas, "k", "b", 0, done, false).is_fine());
  // An index that no client read may belong to any value, but not to a missing key.
  CHECK(register_story(start).write(kv_verb::cas, "k", "b", 99, done).is_fine());
  CHECK(register_story(start).write(kv_verb::cas, "k", "b", 99, done, false).is_fine());
  CHECK_FALSE(register_story().write(kv_verb::cas, "k", "b", 99, done).is_fine());

  CHECK(register_story(start).write(kv_verb::remove_cas, "k", "", 7, done).read("k", {}, 0).is_fine());
  CHECK_FALSE(register_story(start).write(kv_verb::remove_cas, "k", "", 0, done).is_fine());
  CHECK_FALSE(register_story().write(kv_verb::remove_cas, "k", "", 7, done, false).is_fine());

  CHECK(register_story(start).write(kv_verb::remove_tree, "", "", 0, done).read("k", {}, 9).is_fine());
  CHECK_FALSE(register_story(start).write(kv_verb::remove_tree, "", "", 0, done).read("k", "a", 7).is_fine());
  CHECK(register_story(start).write(kv_verb::remove_tree, "x", "", 0, done).read("k", "a", 7).is_fine());

  CHECK(register_story(start).write(kv_verb::remove, "k", "", 0, outcome::unknown).read("k", {}, 9).is_fine());
  CHECK_FALSE(register_story(start).write(kv_verb::remove, "k", "", 0, outcome::refused).read("k", {}, 9).is_fine());

  // Stale reads prove nothing, default reads only with reliable clocks; ignores transactions.
  CHECK(register_story(start).read("k", {}, 9, http::consistency::stale).is_fine());
  CHECK_FALSE(register_story(start).read("k", {}, 9).is_fine());
  CHECK(register_story(start).read("k", {}, 9).is_fine(false));
  CHECK_FALSE(register_story(start).read("k", {}, 9, http::consistency::consistent).is_fine(false));
  CHECK(register_story(start).txn("k").read("k", {}, 9).is_fine());
}
