#include "sim/checkers/reply_checker.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace belay;
using namespace belay::sim;
using http::consistency;
using state::kv_verb;

namespace {

log_index index_of(std::uint64_t v) {
  return log_index{v};
}

/// A run by hand: every call is a notification of the checker; keeps the first failure.
class run_by_hand {
public:
  explicit run_by_hand(reply_rules rules = {}) : checker_(rules) {}

  std::uint64_t asks(state::command c) {
    auto& o = next();
    o.write = std::move(c);
    checker_.begun(o);
    return o.id;
  }
  std::uint64_t asks(state::query q, consistency mode = consistency::normal, std::size_t node = 0, int life = 1) {
    auto& o = next();
    o.node = node;
    o.node_life = life;
    o.read.emplace();
    o.read->query = std::move(q);
    o.read->mode = mode;
    checker_.begun(o);
    return o.id;
  }
  run_by_hand& commit(const state::command& c) {
    note(checker_.committed(entry(checker_.committed().value + 1, c)));
    return *this;
  }
  run_by_hand& is_done(std::uint64_t id, std::uint64_t index, state::reply reply = true) {
    auto& o = ops_[id - 1];
    o.index = index_of(index);
    o.reply = std::move(reply);
    return ends(o, outcome::done);
  }
  run_by_hand& is_refused(std::uint64_t id) { return ends(ops_[id - 1], outcome::refused); }
  run_by_hand& is_unknown(std::uint64_t id) { return ends(ops_[id - 1], outcome::unknown); }
  run_by_hand& learns(std::uint64_t id, std::uint64_t index, decltype(state::query_result::data) data) {
    auto& o = ops_[id - 1];
    o.answer = state::query_result{index_of(index), std::move(data)};
    return ends(o, outcome::done);
  }

  /// Sent, committed and answered.
  run_by_hand& wrote(const state::command& c) {
    const auto id = asks(c);
    commit(c);
    return is_done(id, checker_.committed().value);
  }
  /// Sent and answered at once.
  run_by_hand& read(state::query q, std::uint64_t index, decltype(state::query_result::data) data,
                    consistency mode = consistency::normal, std::size_t node = 0, int life = 1) {
    return learns(asks(std::move(q), mode, node, life), index, std::move(data));
  }

  bool fine() {
    note(checker_.finish());
    return !complaint_;
  }
  std::string text() const { return complaint_.value_or(""); }

private:
  operation& next() {
    auto& o = ops_.emplace_back();
    o.id = ops_.size();
    return o;
  }
  run_by_hand& ends(operation& o, outcome result) {
    o.result = result;
    o.committed_at_return = checker_.committed();
    note(checker_.ended(o));
    return *this;
  }
  void note(broken b) {
    if (b && !complaint_)
      complaint_ = std::move(b);
  }

  reply_checker checker_;
  std::deque<operation> ops_;
  broken complaint_;
};

state::kv_entry_ptr row(std::string key, std::string value, std::uint64_t created, std::uint64_t modified) {
  state::kv_draft e;
  e.key = std::move(key);
  e.value = make_payload(std::move(value));
  e.create_index = index_of(created);
  e.modify_index = index_of(modified);
  return e;
}
template <class... Rows>
state::kv_entries rows(Rows... each) {
  return {{std::move(each)...}};
}
const state::kv_get k{"k"};

} // namespace

TEST_CASE("replies: a write is done at its own entry, with the right answer") {
  SECTION("fine") {
    run_by_hand r;
    CHECK(r.wrote(set("k", "1")).wrote(cas("k", "2", 1)).fine());
  }
  SECTION("wrong answer") {
    run_by_hand r;
    r.wrote(set("k", "1"));
    const auto id = r.asks(cas("k", "2", 7));
    r.commit(cas("k", "2", 7)).is_done(id, 2, true);
    CHECK_FALSE(r.fine());
    CHECK(r.text().find("expected: false") != std::string::npos);
  }
  SECTION("the same with the right answer") {
    run_by_hand r;
    r.wrote(set("k", "1"));
    const auto id = r.asks(cas("k", "2", 7));
    CHECK(r.commit(cas("k", "2", 7)).is_done(id, 2, false).fine());
  }
  SECTION("another write's entry") {
    run_by_hand r;
    const auto a = r.asks(set("k", "1")), b = r.asks(set("k", "2"));
    r.commit(set("k", "1")).commit(set("k", "2")).is_done(a, 2).is_done(b, 1);
    CHECK_FALSE(r.fine());
  }
  SECTION("not committed") {
    run_by_hand r;
    CHECK_FALSE(r.is_done(r.asks(set("k", "1")), 1).fine());
  }
  SECTION("two deletes that look alike have an entry each") {
    run_by_hand r;
    const auto a = r.asks(remove_key("k")), b = r.asks(remove_key("k"));
    CHECK(r.commit(remove_key("k")).commit(remove_key("k")).is_done(a, 2).is_done(b, 1).fine());
  }
  SECTION("two deletes that look alike must not share one") {
    run_by_hand r;
    const auto a = r.asks(remove_key("k")), b = r.asks(remove_key("k"));
    CHECK_FALSE(r.commit(remove_key("k")).is_done(a, 1).is_done(b, 1).fine());
  }
  SECTION("an entry from before the operation began cannot be its own") {
    run_by_hand r;
    r.is_unknown(r.asks(remove_key("k"))).commit(remove_key("k")).wrote(set("k", "1"));
    CHECK_FALSE(r.is_done(r.asks(remove_key("k")), 1).fine());
  }
}

TEST_CASE("replies: no command is in the log more often than it may be") {
  run_by_hand r;
  SECTION("unknown: once") {
    r.is_unknown(r.asks(set("k", "1"))).commit(set("k", "1"));
    CHECK(r.fine());
  }
  SECTION("unknown: never") {
    CHECK(r.is_unknown(r.asks(set("k", "1"))).fine());
  }
  SECTION("unknown: twice") {
    r.is_unknown(r.asks(set("k", "1"))).commit(set("k", "1")).commit(set("k", "1"));
    CHECK_FALSE(r.fine());
  }
  SECTION("done: twice") {
    CHECK_FALSE(r.wrote(set("k", "1")).commit(set("k", "1")).fine());
  }
  SECTION("refused: not at all") {
    CHECK(r.is_refused(r.asks(set("k", "1"))).fine());
  }
  SECTION("refused: but committed before") {
    const auto id = r.asks(set("k", "1"));
    CHECK_FALSE(r.commit(set("k", "1")).is_refused(id).fine());
  }
  SECTION("refused: but committed later") {
    CHECK_FALSE(r.is_refused(r.asks(set("k", "1"))).commit(set("k", "1")).fine());
  }
  SECTION("no client requested it") {
    CHECK_FALSE(r.commit(set("k", "1")).fine());
  }
  SECTION("servers end sessions on their own") {
    state::session_destroy end;
    end.ids = {"x"};
    CHECK(r.commit(end).commit(end).fine());
  }
}

TEST_CASE("replies: without an entry only early rejections") {
  run_by_hand r;
  SECTION("a put never") {
    CHECK_FALSE(r.is_done(r.asks(set("k", "1")), 0).fine());
  }
  SECTION("an acquire by a lock-delay") {
    CHECK(r.is_done(r.asks(lock("k")), 0, false).fine());
  }
  SECTION("an acquire is not granted like that") {
    CHECK_FALSE(r.is_done(r.asks(lock("k")), 0, true).fine());
  }
  SECTION("a refused acquire is not committed later") {
    CHECK_FALSE(r.is_done(r.asks(lock("k")), 0, false).commit(lock("k")).fine());
  }
  SECTION("an acquire without a session, and its text") {
    const auto no_node = state::command(state::kv_write{key_op(kv_verb::lock, "k", "v")});
    CHECK(r.is_done(r.asks(no_node), 0, state::refusal{"missing session"}).fine());
    CHECK_FALSE(r.is_done(r.asks(no_node), 0, state::refusal{"something else"}).fine());
  }
  SECTION("a transaction with an empty key") {
    const auto c = txn(key_op(kv_verb::set, "k", "1"), key_op(kv_verb::set, "", "2"));
    state::txn_reply received;
    received.errors.push_back({1, "Must provide key"});
    CHECK(r.is_done(r.asks(c), 0, received).fine());
    received.errors[0].op_index = 0;
    CHECK_FALSE(r.is_done(r.asks(c), 0, received).fine());
  }
}

TEST_CASE("replies: a linearizable read shows a state not older than a known one") {
  const auto old_row = row("k", "1", 1, 1), new_row = row("k", "2", 1, 2);
  run_by_hand r;
  r.wrote(set("k", "1")).wrote(set("k", "2"));
  SECTION("the newest") {
    CHECK(r.read(k, 2, rows(new_row)).read(k, 2, rows(new_row), consistency::consistent).fine());
  }
  SECTION("too old") {
    CHECK_FALSE(r.read(k, 1, rows(old_row)).fine());
  }
  SECTION("too old, consistent") {
    CHECK_FALSE(r.read(k, 1, rows(old_row), consistency::consistent).fine());
  }
  SECTION("from the future") {
    CHECK_FALSE(r.read(k, 3, rows(row("k", "3", 1, 3))).fine());
  }
  SECTION("wrong in one field") {
    CHECK_FALSE(r.read(k, 2, rows(row("k", "2", 2, 2))).fine());
  }
  SECTION("wrong index") {
    CHECK_FALSE(r.read(k, 1, rows(new_row)).fine());
  }
  SECTION("index 0") {
    CHECK_FALSE(r.read(state::session_list{}, 0, state::sessions{}).fine());
  }
  SECTION("a missing key has the index of the table") {
    CHECK(r.read(state::kv_get{"none"}, 2, rows()).fine());
    CHECK_FALSE(r.read(state::kv_get{"none"}, 1, rows()).fine());
  }
  SECTION("written during the read: both are right, until a client has seen the new one") {
    const auto write = r.asks(set("k", "3"));
    const auto a = r.asks(k), b = r.asks(k);
    r.commit(set("k", "3"));
    CHECK(r.learns(a, 3, rows(row("k", "3", 1, 3))).learns(b, 2, rows(new_row)).fine());
    CHECK_FALSE(r.read(k, 2, rows(new_row)).fine()); // a has returned, the write's response is not needed
    r.is_unknown(write);
  }
}

TEST_CASE("replies: stale reads may be old, but one life of a node does not go back") {
  const auto old_row = row("k", "1", 1, 1), new_row = row("k", "2", 1, 2);
  run_by_hand r;
  r.wrote(set("k", "1")).wrote(set("k", "2"));
  const auto stale = consistency::stale;
  CHECK(r.read(k, 1, rows(), stale, 2).text().empty()); // nothing applied there yet
  CHECK(r.read(k, 1, rows(old_row), stale, 0).read(k, 2, rows(new_row), stale, 0).fine());
  SECTION("another node, another life") {
    CHECK(r.read(k, 1, rows(old_row), stale, 1).read(k, 1, rows(old_row), stale, 0, 2).fine());
  }
  SECTION("back") {
    CHECK_FALSE(r.read(k, 1, rows(old_row), stale, 0).fine());
  }
  SECTION("overlapping ones may come in any order") {
    const auto first = r.asks(k, stale, 3), second = r.asks(k, stale, 3);
    CHECK(r.learns(first, 2, rows(new_row)).learns(second, 1, rows(old_row)).fine());
  }
  SECTION("what never was") {
    CHECK_FALSE(r.read(k, 1, rows(row("k", "x", 1, 1)), stale, 1).fine());
  }
}

TEST_CASE("replies: without trust in the lease, default reads may be old, consistent ones not") {
  const auto old_row = row("k", "1", 1, 1);
  for (const bool trust : {true, false}) {
    run_by_hand r({trust});
    r.wrote(set("k", "1")).wrote(set("k", "2"));
    CHECK(r.read(k, 1, rows(old_row)).fine() == !trust);
    CHECK_FALSE(r.read(k, 1, rows(old_row), consistency::consistent, 1).fine());
  }
}

TEST_CASE("replies: lists, names and transactions that read") {
  run_by_hand r;
  r.wrote(set("p/a", "1")).wrote(set("p/b/c", "2")).wrote(set("q", "3")).wrote(remove_key("p/a"));
  const auto b = row("p/b/c", "2", 2, 2);
  SECTION("fine") {
    CHECK(r.read(state::kv_list{"p/"}, 4, rows(b)).fine());
    CHECK(r.read(state::kv_list{""}, 4, rows(b, row("q", "3", 3, 3))).fine());
    CHECK(r.read(state::kv_keys{"p/", "/"}, 4, state::key_names{{"p/b/"}}).fine());
    CHECK(r.read(state::kv_keys{"", ""}, 4, state::key_names{{"p/b/c", "q"}}).fine());
    state::txn_reply shown;
    shown.results.push_back({b, true});
    state::txn t;
    t.ops.push_back(key_op(kv_verb::get, "p/b/c"));
    CHECK(r.read(state::txn_read{t}, 4, shown).fine());
  }
  SECTION("deleted, but still there") {
    CHECK_FALSE(r.read(state::kv_list{"p/"}, 4, rows(row("p/a", "1", 1, 1), b)).fine());
  }
  SECTION("one is missing") {
    CHECK_FALSE(r.read(state::kv_list{""}, 4, rows(b)).fine());
  }
  SECTION("the tombstone is forgotten (C5)") {
    CHECK_FALSE(r.read(state::kv_list{"p/"}, 2, rows(b)).fine());
  }
  SECTION("names that are not there") {
    CHECK_FALSE(r.read(state::kv_keys{"p/", "/"}, 4, state::key_names{{"p/a", "p/b/"}}).fine());
  }
  SECTION("a transaction that reads the past") {
    state::txn t;
    t.ops.push_back(key_op(kv_verb::get, "p/a"));
    state::txn_reply shown;
    shown.results.push_back({row("p/a", "1", 1, 1), true});
    CHECK_FALSE(r.read(state::txn_read{t}, 4, shown).fine());
  }
  SECTION("one moment for all rows") {
    const auto id = r.asks(state::kv_list{"p/"});
    const auto x = r.asks(set("p/x", "5")), y = r.asks(set("p/y", "6"));
    r.commit(set("p/x", "5")).commit(set("p/y", "6")).is_unknown(x).is_unknown(y);
    CHECK_FALSE(r.learns(id, 6, rows(b, row("p/y", "6", 6, 6))).fine());
  }
}

TEST_CASE("replies: doubtful cases are not checked, those beside them are") {
  run_by_hand r;
  r.wrote(set("p/a", "1"));
  const auto unknown = txn(key_op(kv_verb::set, "p/l", "held"), write_of_node("m"));
  r.is_unknown(r.asks(unknown)).commit(unknown);
  const auto held = row("p/l", "held", 2, 2);
  CHECK(r.read(state::kv_list{"p/"}, 2, rows(row("p/a", "1", 1, 1), held)).fine());
  CHECK(r.read(state::kv_list{"p/"}, 1, rows(row("p/a", "1", 1, 1))).fine());
  CHECK_FALSE(r.read(state::kv_list{"p/"}, 2, rows(held)).fine());
}

TEST_CASE("replies: entries are in order") {
  reply_checker c;
  CHECK_FALSE(c.committed(noop(1)));
  CHECK_FALSE(c.committed(noop(2)));
  CHECK(c.committed(noop(4)));
  CHECK(c.committed() == index_of(2));
}
