// The checkers of replies and of blocking queries with ACLs in force.

#include "sim/checkers/reply_checker.hpp"
#include "sim/checkers/watch_checker.hpp"
#include "tests/sim/acl_entries.hpp"

#include <catch2/catch.hpp>

#include <deque>

using namespace belay;
using namespace belay::sim;
using http::consistency;
using std::chrono::milliseconds;

namespace {

const state::kv_get key{"k"};
const state::kv_list all{""};

state::kv_entry_ptr key_row(std::string name, std::uint64_t at) {
  state::kv_draft e;
  e.key = std::move(name);
  e.value = make_payload("v");
  e.create_index = e.modify_index = log_index{at};
  return e;
}
state::kv_entries key_rows(std::vector<state::kv_entry_ptr> list) {
  return {std::move(list)};
}

/// Entries: 1 enables ACLs; 2 policy 1 (reads k); 3, 4 tokens a (has 1) and b; 5, 6 keys k and l.
class acl_run_by_hand {
public:
  acl_run_by_hand() {
    for (const auto& c :
         {begin_acls(), make_policy('1', "key \"k\" { policy = \"read\" }\n"), make_token('a', "1"),
          make_token('b', ""), on_behalf_of("master", set("k", "v")), on_behalf_of("master", set("l", "v"))})
      knows(c);
  }

  /// Sent, committed and answered.
  acl_run_by_hand& knows(const state::command& c, state::reply r = true) {
    const auto id = asks(c);
    commits(c);
    return is_done(id, checker_.committed().value, row_for(c, std::move(r)));
  }
  acl_run_by_hand& commits(const state::command& c) {
    note(checker_.committed(entry(checker_.committed().value + 1, c)));
    return *this;
  }
  std::uint64_t asks(state::command c) {
    auto& o = next();
    o.write = std::move(c);
    checker_.begun(o);
    return o.id;
  }
  std::uint64_t asks(std::string who, state::query q, consistency mode = consistency::normal) {
    auto& o = next();
    o.read.emplace();
    o.read->query = on_behalf_of(std::move(who), std::move(q));
    o.read->mode = mode;
    checker_.begun(o);
    return o.id;
  }
  acl_run_by_hand& is_done(std::uint64_t id, std::uint64_t index, state::reply reply) {
    auto& o = ops_[id - 1];
    o.index = log_index{index};
    o.reply = std::move(reply);
    return ends(o);
  }
  acl_run_by_hand& learns(std::uint64_t id, std::uint64_t index, decltype(state::query_result::data) data) {
    auto& o = ops_[id - 1];
    o.answer = state::query_result{log_index{index}, std::move(data)};
    return ends(o);
  }
  bool fine() {
    note(checker_.finish());
    return !complaint_;
  }

  static state::reply token_row(std::string accessor) {
    auto token = std::make_shared<state::acl_token>();
    token->accessor = std::move(accessor);
    return state::acl_row{std::move(token), {}, {}};
  }

private:
  static state::reply row_for(const state::command& c, state::reply r) {
    if (std::holds_alternative<state::acl_policy_set>(c))
      return state::acl_row{};
    const auto* set = std::get_if<state::acl_token_set>(&c);
    return set == nullptr ? std::move(r) : token_row(set->token.accessor);
  }
  operation& next() {
    auto& o = ops_.emplace_back();
    o.id = ops_.size();
    return o;
  }
  acl_run_by_hand& ends(operation& o) {
    o.result = outcome::done;
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

const state::refusal denied{"Permission denied"}, not_found{"ACL not found"};

} // namespace

TEST_CASE("acl checkers: a write is decided by the rules at its entry") {
  const auto write = on_behalf_of("a", set("k", "w"));
  SECTION("refused, as it should be") {
    acl_run_by_hand r;
    CHECK(r.knows(write, denied).fine());
  }
  SECTION("done, although it must not be") {
    acl_run_by_hand r;
    CHECK_FALSE(r.knows(write, true).fine());
  }
  SECTION("refused for the wrong reason") {
    acl_run_by_hand r;
    CHECK_FALSE(r.knows(write, not_found).fine());
  }
  SECTION("allowed in the entry before it") {
    acl_run_by_hand r;
    r.knows(make_policy('1', "key \"k\" { policy = \"write\" }\n", false));
    CHECK(r.knows(write, true).fine());
  }
  SECTION("allowed before, and refused all the same") {
    acl_run_by_hand r;
    r.knows(make_policy('1', "key \"k\" { policy = \"write\" }\n", false));
    CHECK_FALSE(r.knows(write, denied).fine());
  }
}

TEST_CASE("acl checkers: a rejection without an entry must have been forbidden since the request") {
  const auto write = on_behalf_of("a", set("k", "w"));
  SECTION("it is") {
    acl_run_by_hand r;
    CHECK(r.is_done(r.asks(write), 0, denied).fine());
  }
  SECTION("it became allowed meanwhile") {
    acl_run_by_hand r;
    const auto id = r.asks(write);
    r.knows(make_policy('1', "key \"k\" { policy = \"write\" }\n", false));
    CHECK(r.is_done(id, 0, denied).fine());
  }
  SECTION("it was allowed before") {
    acl_run_by_hand r;
    r.knows(make_policy('1', "key \"k\" { policy = \"write\" }\n", false));
    CHECK_FALSE(r.is_done(r.asks(write), 0, denied).fine());
  }
  SECTION("of a transaction, each operation that is not allowed") {
    const auto both =
        on_behalf_of("a", txn(key_op(state::kv_verb::check_index, "k", "", 5), key_op(state::kv_verb::set, "l")));
    const auto answer = [](std::vector<state::txn_error> errors) { return state::reply(state::txn_reply{{}, errors}); };
    acl_run_by_hand r, wrong;
    CHECK(r.is_done(r.asks(both), 0, answer({{1, "Permission denied"}})).fine());
    CHECK_FALSE(
        wrong.is_done(wrong.asks(both), 0, answer({{0, "Permission denied"}, {1, "Permission denied"}})).fine());
  }
}

TEST_CASE("acl checkers: a new token is shown with the accessor that its entry keeps") {
  auto token = std::get<state::acl_token_set>(make_token('c', ""));
  const auto small = token.token.accessor;
  token.token.accessor[0] = 'A';
  const auto shown_as = [&](const std::string& accessor, bool names_its_client) {
    acl_run_by_hand run;
    auto c = on_behalf_of("master", state::command(token));
    const auto id = run.asks(c);
    if (names_its_client)
      c.client_address = "10.1.2.3";
    run.commits(c);
    return run.is_done(id, 7, acl_run_by_hand::token_row(accessor)).fine();
  };
  const auto lower = "a" + small.substr(1);
  CHECK(shown_as(token.token.accessor, true));
  CHECK_FALSE(shown_as(lower, true));
  CHECK(shown_as(lower, false));
  CHECK_FALSE(shown_as(token.token.accessor, false));
}

TEST_CASE("acl checkers: a read shows the rows that its token may see, and no others") {
  SECTION("filtered, with the index of all") {
    acl_run_by_hand r;
    CHECK(r.learns(r.asks("a", all), 6, key_rows({key_row("k", 5)})).fine());
  }
  SECTION("not filtered") {
    acl_run_by_hand r;
    CHECK_FALSE(r.learns(r.asks("a", all), 6, key_rows({key_row("k", 5), key_row("l", 6)})).fine());
  }
  SECTION("a row that may be seen is left out") {
    acl_run_by_hand r;
    CHECK_FALSE(r.learns(r.asks("a", all), 6, key_rows({})).fine());
  }
  SECTION("one key that may not be read") {
    acl_run_by_hand r, wrong;
    CHECK(r.learns(r.asks("b", key), 0, denied).fine());
    CHECK_FALSE(wrong.learns(wrong.asks("b", key), 5, key_rows({key_row("k", 5)})).fine());
  }
  SECTION("one that may") {
    acl_run_by_hand r;
    CHECK_FALSE(r.learns(r.asks("a", key), 0, denied).fine());
  }
}

TEST_CASE("acl checkers: a deleted token permits nothing once that is known") {
  const auto found = key_rows({key_row("k", 5)});
  SECTION("asked before") {
    acl_run_by_hand r;
    const auto id = r.asks("a", key);
    r.knows(remove_token('a'));
    CHECK(r.learns(id, 5, found).fine());
  }
  SECTION("asked after") {
    acl_run_by_hand r;
    r.knows(remove_token('a'));
    CHECK_FALSE(r.learns(r.asks("a", key), 5, found).fine());
  }
  SECTION("a stale read of a server that has not heard of it") {
    acl_run_by_hand r;
    r.knows(remove_token('a'));
    CHECK(r.learns(r.asks("a", key, consistency::stale), 5, found).fine());
  }
  SECTION("another one of the same server, which has") {
    acl_run_by_hand r;
    r.learns(r.asks("a", key, consistency::stale), 5, found); // so that the next one is not from before it was made
    r.knows(remove_token('a'));
    r.learns(r.asks("a", key, consistency::stale), 0, not_found);
    CHECK_FALSE(r.learns(r.asks("a", key, consistency::stale), 5, found).fine());
  }
  SECTION("a stale read whose index shows that it has") {
    acl_run_by_hand r;
    r.knows(remove_token('a')).knows(on_behalf_of("master", set("m", "v")));
    CHECK_FALSE(r.learns(r.asks("a", all, consistency::stale), 8, found).fine());
  }
  SECTION("it is not there, and is used") {
    acl_run_by_hand r;
    CHECK_FALSE(r.learns(r.asks("x", key), 0, denied).fine());
  }
}

TEST_CASE("acl checkers: a waiter whose token is gone is notified") {
  kv_model model;
  watch_checker checker(model, {milliseconds(100), 1});
  const auto commit = [&](const state::command& c) { model.apply(entry(model.applied().value + 1, c)); };
  for (const auto& c :
       {begin_acls(), make_policy('1', "key \"k\" { policy = \"read\" }\n"), make_token('a', "1"), set("k", "v")})
    commit(c);
  operation o;
  o.id = 1;
  o.node_life = 1;
  o.read.emplace();
  o.read->query = on_behalf_of("a", state::query(key));
  o.read->mode = consistency::stale;
  o.read->min_index = 4;
  o.read->wait = milliseconds(10'000);
  CHECK_FALSE(checker.applied(0, 1, log_index{4}, milliseconds(0)));
  checker.begun(o);
  CHECK_FALSE(checker.finish(milliseconds(5'000)));

  SECTION("left waiting") {
    const bool by_token = GENERATE(true, false);
    commit(by_token ? remove_token('a') : remove_policy('1'));
    CHECK_FALSE(checker.applied(0, 1, log_index{5}, milliseconds(5'000)));
    CHECK_FALSE(checker.finish(milliseconds(5'100)));
    CHECK(checker.finish(milliseconds(5'101)));
  }
  SECTION("the permission returns before any evaluation") {
    commit(remove_policy('1'));
    checker.applied(0, 1, log_index{5}, milliseconds(5'000));
    commit(make_policy('2', "key \"k\" { policy = \"read\" }\n"));
    commit(make_token('a', "2", "", 0, false));
    CHECK_FALSE(checker.applied(0, 1, log_index{7}, milliseconds(5'050)));
    CHECK_FALSE(checker.finish(milliseconds(9'000)));
  }
  SECTION("refused") {
    commit(remove_token('a'));
    checker.applied(0, 1, log_index{5}, milliseconds(5'000));
    o.result = outcome::done;
    o.answer = state::query_result{{}, not_found};
    o.returned = milliseconds(5'020);
    o.committed_at_return = model.applied();
    CHECK_FALSE(checker.ended(o));
    CHECK_FALSE(checker.finish(milliseconds(9'000)));
  }
}
