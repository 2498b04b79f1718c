#include "sim/checkers/changes/change_checker.hpp"
#include "sim/checkers/watch_checker.hpp"
#include "tests/sim/written_log.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace belay;
using namespace belay::sim;
using http::consistency;

namespace {

using std::chrono::milliseconds;

/// Times are milliseconds. Node 0, life 1, unless given; slack 100 ms.
class watch_run_by_hand {
public:
  explicit watch_run_by_hand(double fastest_clock = 1) : checker_(model_, {milliseconds(100), fastest_clock}) {}

  watch_run_by_hand& commit(const state::command& c) {
    model_.apply(entry(model_.applied().value + 1, c));
    return *this;
  }
  watch_run_by_hand& applies(std::uint64_t index, int at, int life = 1) {
    return note(checker_.applied(0, life, log_index{index}, milliseconds(at)));
  }
  std::uint64_t asks(state::query q, std::uint64_t index, int at, int wait = 10'000,
                     consistency mode = consistency::stale, int life = 1) {
    auto& o = ops_.emplace_back();
    o.id = ops_.size();
    o.node_life = life;
    o.invoked = milliseconds(at);
    o.read.emplace();
    o.read->query = std::move(q);
    o.read->mode = mode;
    o.read->min_index = index;
    o.read->wait = milliseconds(wait);
    checker_.begun(o);
    return o.id;
  }
  watch_run_by_hand& held(std::uint64_t id, int at) {
    checker_.held(id, milliseconds(at));
    return *this;
  }
  watch_run_by_hand& learns(std::uint64_t id, std::uint64_t index, int at) {
    ops_[id - 1].answer = state::query_result{log_index{index}, state::kv_entries{}};
    return ends(id, outcome::done, at);
  }
  watch_run_by_hand& gives_up(std::uint64_t id, int at) { return ends(id, outcome::unknown, at); }
  watch_run_by_hand& stops(int at) { return note(checker_.node_stopped(0, milliseconds(at))); }
  watch_run_by_hand& resumes(int at) { return note(checker_.node_resumed(0, milliseconds(at))); }
  bool fine(int at) {
    note(checker_.finish(milliseconds(at)));
    return !complaint_;
  }

private:
  watch_run_by_hand& ends(std::uint64_t id, outcome result, int at) {
    auto& o = ops_[id - 1];
    o.result = result;
    o.returned = milliseconds(at);
    o.committed_at_return = model_.applied();
    return note(checker_.ended(o));
  }
  watch_run_by_hand& note(broken b) {
    if (b && !complaint_)
      complaint_ = std::move(b);
    return *this;
  }

  kv_model model_;
  watch_checker checker_;
  std::deque<operation> ops_;
  broken complaint_;
};

const state::kv_get watched_key{"k"};
const state::kv_list p{"p/"};

} // namespace

TEST_CASE("watches: a change is answered within the slack") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0);
  const auto id = r.asks(watched_key, 1, 10);
  r.commit(set("k", "2")).applies(2, 500);
  SECTION("in time") {
    CHECK(r.learns(id, 2, 600).fine(20'000));
  }
  SECTION("too late") {
    CHECK_FALSE(r.learns(id, 2, 601).fine(20'000));
  }
  SECTION("never") {
    CHECK(r.fine(600));
    CHECK_FALSE(r.fine(601));
  }
  SECTION("the client disconnected") {
    CHECK(r.gives_up(id, 550).fine(20'000));
  }
  SECTION("found late by any later event") {
    CHECK_FALSE(r.applies(2, 700).fine(0));
  }
}

TEST_CASE("watches: an unchanged row needs no response before the end of the wait") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0);
  const auto id = r.asks(watched_key, 1, 10, 5'000);
  SECTION("another key, the same value") {
    r.commit(set("x", "1")).commit(set("k", "1")).applies(3, 100);
    CHECK(r.learns(id, 1, 5'010).fine(20'000));
  }
  SECTION("a query for an index in the future") {
    const auto later = r.asks(watched_key, 99, 20, 5'000);
    r.commit(set("k", "2")).applies(2, 100);
    CHECK(r.learns(id, 2, 110).learns(later, 2, 5'020).fine(20'000));
  }
  SECTION("not applied by this node") {
    r.commit(set("k", "2"));
    CHECK(r.learns(id, 1, 5'010).fine(20'000));
  }
  SECTION("an answer without a change, too early") {
    CHECK_FALSE(r.learns(id, 1, 5'009).fine(20'000));
  }
  SECTION("timed out although there was a change") {
    r.commit(set("k", "2")).applies(2, 4'000);
    CHECK_FALSE(r.learns(id, 1, 5'010).fine(20'000));
  }
  SECTION("timed out just before the change") {
    r.commit(set("k", "2")).applies(2, 4'950);
    CHECK(r.learns(id, 1, 5'010).fine(20'000));
  }
}

TEST_CASE("watches: a fast clock ends a wait early") {
  for (const double fastest : {1.0, 1.25}) {
    watch_run_by_hand r(fastest);
    r.commit(set("k", "1")).applies(1, 0);
    CHECK(r.learns(r.asks(watched_key, 1, 0, 5'000), 1, 4'000).fine(20'000) == (fastest > 1));
  }
}

TEST_CASE("watches: which changes concern a query") {
  struct line {
    const char* what;
    state::query query;
    std::vector<state::command> before, then;
    bool concerns;
  };
  const std::vector<line> lines = {
      {"key: changed", watched_key, {set("k", "1")}, {set("k", "2")}, true},
      {"key: deleted", watched_key, {set("k", "1")}, {remove_key("k")}, true},
      {"key: deleted with its tree", state::kv_get{"p/a"}, {set("p/a", "1")}, {remove_tree("p/")}, true},
      {"key: made", watched_key, {set("x", "1")}, {set("k", "2")}, true},
      {"key: a longer one", watched_key, {set("k", "1")}, {set("kk", "2")}, false},
      {"prefix: changed below", p, {set("p/a", "1")}, {set("p/a", "2")}, true},
      {"prefix: deleted below", p, {set("p/a", "1"), set("p/b", "1")}, {remove_key("p/a")}, true},
      {"prefix: the last one deleted with a wider tree", p, {set("p/a", "1")}, {remove_tree("p")}, true},
      {"prefix: beside it", p, {set("p/a", "1")}, {set("q/a", "1"), set("p", "1")}, false},
      {"names", state::kv_keys{"p/", "/"}, {set("p/a", "1")}, {set("p/a/b", "1")}, true},
      {"by transaction", watched_key, {set("k", "1")}, {txn(key_op(state::kv_verb::set, "k", "2"))}, true},
      {"a transaction that failed",
       watched_key,
       {set("k", "1")},
       {txn(key_op(state::kv_verb::set, "k", "2"), key_op(state::kv_verb::cas, "k", "3", 77))},
       false},
      {"in doubt", watched_key, {set("k", "1")}, {lock("k")}, false},
  };
  for (const auto& l : lines) {
    INFO(l.what);
    watch_run_by_hand r;
    for (const auto& c : l.before)
      r.commit(c);
    const auto seen = l.before.size();
    r.applies(seen, 0).asks(l.query, seen, 10);
    for (const auto& c : l.then)
      r.commit(c);
    CHECK(r.applies(seen + l.then.size(), 500).fine(601) == !l.concerns);
  }
}

TEST_CASE("watches: a stopped node has no deadlines until it is resumed") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0);
  const auto id = r.asks(watched_key, 1, 10);
  r.commit(set("k", "2")).applies(2, 500).stops(550);
  CHECK(r.fine(5'000));
  r.resumes(6'000);
  SECTION("then in time") {
    CHECK(r.learns(id, 2, 6'100).fine(20'000));
  }
  SECTION("then too late") {
    CHECK_FALSE(r.fine(6'101));
  }
}

TEST_CASE("watches: a stop does not excuse earlier lateness") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0).asks(watched_key, 1, 10);
  CHECK_FALSE(r.commit(set("k", "2")).applies(2, 500).stops(700).fine(700));
}

TEST_CASE("watches: the queries of an earlier life are forgotten") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0).asks(watched_key, 1, 10);
  r.stops(100).resumes(200).commit(set("k", "2")).applies(2, 300, 2);
  CHECK(r.fine(20'000));
}

TEST_CASE("watches: a query that waits for its barrier is not overdue, but must not return old data") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0);
  const auto id = r.asks(watched_key, 1, 10, 3'000, consistency::normal);
  r.commit(set("k", "2")).applies(2, 500);
  CHECK(r.fine(2'000));
  SECTION("answered when the barrier is confirmed") {
    CHECK(r.held(id, 2'000).learns(id, 2, 2'100).fine(20'000));
  }
  SECTION("too late after the barrier") {
    CHECK_FALSE(r.held(id, 2'000).learns(id, 2, 2'101).fine(20'000));
  }
  SECTION("timed out with old data") {
    CHECK_FALSE(r.learns(id, 1, 3'010).fine(20'000));
  }
}

TEST_CASE("watches: a restore removes changes that no query has seen") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).applies(1, 0);
  const auto id = r.asks(watched_key, 1, 10, 20'000, consistency::normal);
  r.commit(set("k", "2")).applies(2, 20);
  for (const auto& c : restore("r", 1))
    r.commit(c);
  SECTION("it needs no answer, not even when another key raises the table's index") {
    r.applies(5, 30).held(id, 40).commit(set("other", "1")).applies(6, 50);
    CHECK(r.fine(10'000));
  }
  SECTION("a change behind it does") {
    r.applies(5, 30).held(id, 40).commit(set("k", "3")).applies(6, 50);
    CHECK_FALSE(r.fine(10'000));
  }
  SECTION("and one between the restore and the evaluation") {
    r.commit(set("k", "3")).applies(6, 30).held(id, 40);
    SECTION("in time") {
      CHECK(r.learns(id, 6, 140).fine(20'000));
    }
    SECTION("not") {
      CHECK_FALSE(r.fine(10'000));
    }
  }
}

TEST_CASE("watches: reaping removes changes that no query has seen") {
  watch_run_by_hand r;
  r.commit(set("p/a", "1")).applies(1, 0);
  const auto id = r.asks(p, 1, 10, 20'000, consistency::normal);
  r.commit(set("p/b", "1")).commit(remove_key("p/b")).applies(2, 20).applies(3, 20);
  SECTION("it needs no answer") {
    r.commit(state::tombstone_reap{log_index{3}}).applies(4, 20).held(id, 30);
    CHECK(r.learns(id, 1, 20'030).fine(20'100));
  }
  SECTION("a change behind it does") {
    r.commit(state::tombstone_reap{log_index{3}}).applies(4, 20).held(id, 30).commit(set("p/c", "1")).applies(5, 40);
    CHECK_FALSE(r.fine(10'000));
  }
  SECTION("and what is not reaped") {
    r.commit(state::tombstone_reap{log_index{2}}).applies(4, 20).held(id, 30);
    CHECK_FALSE(r.fine(10'000));
  }
}

TEST_CASE("watches: an index does not go back for one client, query and life of a node") {
  watch_run_by_hand r;
  r.commit(set("p/a", "1")).commit(set("p/b", "1")).commit(remove_key("p/b")).applies(3, 0);
  CHECK(r.learns(r.asks(p, 2, 10), 3, 20).fine(20));
  SECTION("the same again") {
    CHECK(r.learns(r.asks(p, 3, 30, 1'000), 3, 1'030).fine(20'000));
  }
  SECTION("back") {
    CHECK_FALSE(r.learns(r.asks(p, 3, 30, 1'000), 2, 1'030).fine(20'000));
  }
  SECTION("back after tombstones were reaped") {
    r.commit(state::tombstone_reap{log_index{3}}).applies(4, 25);
    CHECK(r.learns(r.asks(p, 3, 30, 1'000), 1, 1'030).fine(20'000));
  }
  SECTION("another life") {
    r.applies(2, 25, 2);
    CHECK(r.learns(r.asks(p, 3, 30, 1'000, consistency::stale, 2), 2, 1'030).fine(20'000));
  }
  SECTION("zero") {
    CHECK_FALSE(r.learns(r.asks(state::catalog_nodes{}, 3, 30, 1'000), 0, 1'030).fine(20'000));
  }
}

TEST_CASE("watches: for one key reaping is no excuse, and sessions have one index for all") {
  watch_run_by_hand r;
  r.commit(set("k", "1")).commit(remove_key("k")).applies(2, 0);
  SECTION("key") {
    r.learns(r.asks(watched_key, 1, 10), 2, 20).commit(state::tombstone_reap{log_index{2}}).applies(3, 25);
    CHECK_FALSE(r.learns(r.asks(watched_key, 2, 30, 1'000), 1, 1'030).fine(20'000));
  }
  SECTION("sessions") {
    r.learns(r.asks(state::session_list{}, 1, 10), 2, 20);
    CHECK_FALSE(r.learns(r.asks(state::session_node{"n"}, 2, 30, 1'000), 1, 1'030).fine(20'000));
  }
}

// ---- streams of changes

namespace {

state::kv_write key_written(state::kv_verb verb, const std::string& key, const std::string& value = {}) {
  state::kv_op op;
  op.verb = verb;
  op.key = key;
  op.value = make_payload(value);
  return {std::move(op)};
}

/// Entries 1 to 4: a and b are set, a is set again, both are removed.
struct checked_stream {
  kv_model model;
  std::vector<std::pair<log_index, std::string>> names;
  change_checker checker{model, "k/", [this](log_index index, std::string_view history) -> broken {
                           names.emplace_back(index, history);
                           return history == "wrong" ? broken("it is wrong") : std::nullopt;
                         }};

  checked_stream() {
    using enum state::kv_verb;
    for (const auto& c : {key_written(set, "k/a", "1"), key_written(set, "k/b", "1"), key_written(set, "k/a", "2"),
                          key_written(remove_tree, "k/")})
      model.apply(entry(model.applied().value + 1, c));
  }
  broken received(const std::string& id, const std::string& kind, const std::string& data) {
    return checker.received({id, kind, data});
  }
  broken change(const std::string& id, const std::string& kind, const std::string& key, int previous,
                const std::string& value = "") {
    return received(id, kind,
                    R"({"Key":")" + key + R"(","Value":")" + value + R"(","Flags":0,"Session":"","PreviousIndex":)" +
                        std::to_string(previous) + R"(,"Index":)" + id.substr(0, id.find('.')) + "}");
  }
  broken progress(const std::string& id) { return received(id, "progress", "{\"Index\":" + id + "}"); }
  /// The state as of entry 2.
  void begin() {
    REQUIRE_FALSE(received("0", "snapshot", "{\"Index\":2}"));
    REQUIRE_FALSE(received("", "set", R"({"Key":"k/a","Value":"MQ==","Flags":0,"PreviousIndex":0,"Index":1})"));
    REQUIRE_FALSE(received("", "set", R"({"Key":"k/b","Value":"MQ==","Flags":0,"PreviousIndex":0,"Index":2})"));
    REQUIRE_FALSE(progress("2"));
  }
};

} // namespace

TEST_CASE("a stream that delivers every change once and in order is accepted") {
  checked_stream j;
  j.begin();
  CHECK_FALSE(j.change("3.0", "set", "k/a", 1, "Mg=="));
  CHECK_FALSE(j.progress("3"));
  CHECK_FALSE(j.change("4.0", "delete", "k/a", 3));
  CHECK(j.checker.last_id() == "4.0");
  j.checker.opened(false); // cut inside the entry
  CHECK_FALSE(j.change("4.1", "delete", "k/b", 2));
  CHECK_FALSE(j.progress("4"));
  CHECK(j.checker.sent_up_to() == log_index{4});
}

TEST_CASE("cursors with a history equal those without one, and their positions are checked") {
  checked_stream j;
  j.begin();
  j.names.clear();
  CHECK_FALSE(j.received("3.0@ab", "set",
                         R"({"Key":"k/a","Value":"Mg==","Flags":0,"Session":"","PreviousIndex":1,"Index":3})"));
  CHECK_FALSE(j.received("3@ab", "progress", "{\"Index\":3}"));
  CHECK(j.checker.last_id() == "3@ab");
  CHECK(j.names == std::vector<std::pair<log_index, std::string>>{{log_index{3}, "ab"}, {log_index{3}, "ab"}});
  CHECK(j.received("4.0@wrong", "delete", R"({"Key":"k/a","Value":null,"PreviousIndex":3,"Index":4})"));
}

TEST_CASE("a server that continues from a cursor of another history is found") {
  const auto* const history = R"({"Index":2,"Reason":"history"})";
  for (const auto& [kind, data] : {std::pair("progress", "{\"Index\":2}"),
                                   {"snapshot", "{\"Index\":2}"},
                                   {"reset", R"({"Index":2,"Reason":"not-retained"})"}}) {
    checked_stream j;
    j.begin();
    j.checker.opened(true);
    CHECK_FALSE(j.received("", "leaderless", "{}")); // it did not get that far
    CHECK(j.checker.last_id() == "2");
    CHECK(j.received("2", kind, data));
  }
  checked_stream j;
  j.begin();
  j.checker.opened(true);
  CHECK(j.checker.waits_for_reset());
  CHECK_FALSE(j.received("0", "reset", history));
  CHECK_FALSE(j.checker.waits_for_reset());
  CHECK(j.received("0", "reset", R"({"Index":2,"Reason":"permissions"})")); // there are none in these runs
}

TEST_CASE("changes that a stream skips, or delivers twice, are found") {
  SECTION("the rest of an entry after a cut") {
    checked_stream j;
    j.begin();
    j.change("3.0", "set", "k/a", 1, "Mg==");
    j.change("4.0", "delete", "k/a", 3);
    CHECK(j.progress("4"));
  }
  SECTION("a change in between") {
    checked_stream j;
    j.begin();
    CHECK(j.change("4.0", "delete", "k/a", 3));
  }
  SECTION("twice") {
    checked_stream j;
    j.begin();
    j.change("3.0", "set", "k/a", 1, "Mg==");
    CHECK(j.change("3.0", "set", "k/a", 1, "Mg=="));
  }
  SECTION("progress before its events") {
    checked_stream j;
    j.begin();
    CHECK(j.progress("3"));
  }
  SECTION("another value") {
    checked_stream j;
    j.begin();
    j.change("3.0", "set", "k/a", 1, "Mw==");
    CHECK(j.progress("3"));
  }
  SECTION("a row that is newer than its snapshot") {
    checked_stream j;
    j.received("0", "reset", "{\"Index\":2,\"Reason\":\"not-retained\"}");
    CHECK(j.received("", "set", R"({"Key":"k/a","Value":"Mg==","PreviousIndex":0,"Index":3})"));
  }
  SECTION("progress of what is not committed") {
    checked_stream j;
    j.begin();
    CHECK(j.progress("9"));
  }
  SECTION("progress that goes back") {
    checked_stream j;
    j.begin();
    j.change("3.0", "set", "k/a", 1, "Mg==");
    j.progress("3");
    CHECK(j.progress("2"));
  }
}
