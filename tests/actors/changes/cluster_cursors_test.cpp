// Cursors of clients that follow changes, at the servers of a cluster. A server that lags behind
// must wait for the cursor's index. A cursor of another history must be rejected by any server,
// before the indexes of this history reach it.

#include "tests/actors/cluster_fixture.hpp"

#include "protocol/base/mutants.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

state::query after(log_index index, state::history_id history = {},
                   state::kv_changes::what what = state::kv_changes::what::changes) {
  state::kv_changes q{{""}, state::change_position{index}, what};
  q.history = history;
  return q;
}

const state::change_rows& rows_of(const read_result& r) {
  REQUIRE(r.found() != nullptr);
  return std::get<state::change_rows>(r.found()->data);
}

bool rejected(const read_result& r) {
  return rows_of(r).gone && rows_of(r).other_history;
}

/// The history that a server reports to clients.
state::history_id history_at(cluster_fixture& c, std::size_t node) {
  return rows_of(c.found(c.read(node, after({}, {}, state::kv_changes::what::position), consistency::stale))).history;
}

/// Keeps all new entries from that node.
void keep_entries_from(cluster_fixture& c, std::size_t node) {
  c.net().filter = [node](std::size_t, std::size_t to, const wire::frame& f) {
    const auto* m = std::get_if<raft::message>(&f);
    return to != node || m == nullptr || !std::holds_alternative<raft::append_entries>(m->body);
  };
}

} // namespace

TEST_CASE("a cursor above the commit index is rejected by every server, in every mode", "[actors][changes]") {
  // The client kept the cursor from a cluster that was lost. It names no history: its server was
  // one of 0.2.0.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto newest = c.put_done(leader, "k", "v");
  REQUIRE(c.converged());
  const auto mode = GENERATE(consistency::stale, consistency::normal, consistency::consistent);
  const auto what = GENERATE(state::kv_changes::what::changes, state::kv_changes::what::snapshot);
  for (std::size_t node = 0; node < 3; ++node) {
    const auto requested = c.now();
    const auto r = c.read(node, after(log_index{newest.value + 50}, {}, what), mode, newest.value + 50);
    CHECK(rejected(c.found(r)));
    CHECK(c.answers(r).at - requested < milliseconds(500)); // and not at the end of its wait
    // A cursor at the server's own present index is valid.
    const auto own = c.read(node, after(newest, {}, what), mode, newest.value, milliseconds(100));
    CHECK_FALSE(rows_of(c.found(own)).gone);
  }
}

TEST_CASE("a follower that lags does not reject a cursor that the leader has", "[actors][changes]") {
  // The write was acknowledged without this server; its client got the change elsewhere.
  const auto mode = GENERATE(consistency::stale, consistency::normal);
  const bool named = GENERATE(false, true);
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  c.put_done(leader, "k", "old");
  REQUIRE(c.converged());
  keep_entries_from(c, follower);
  const auto newest = c.put_done(leader, "k", "new");
  const auto history = named ? history_at(c, leader) : state::history_id();
  REQUIRE(named == !history.is_none());
  const auto r = c.read(follower, after(newest, history), mode, newest.value, seconds(20));
  c.pass(milliseconds(100));
  CHECK_FALSE(c.answered(r));
  CHECK(c.applied(follower) < newest.value);
  c.net().filter = nullptr;
  const auto next = c.put_done(leader, "k", "newest");
  const auto found = c.found(r);
  CHECK_FALSE(rows_of(found).gone);
  REQUIRE(rows_of(found).list.size() == 1); // what came after the cursor, and nothing before it
  CHECK(rows_of(found).list.front().index == next);

  SECTION("which a known bug does") {
    if (mode != consistency::stale || named)
      return;
    keep_entries_from(c, follower);
    REQUIRE(activate_mutant("laggard_rejects_cursors"));
    const auto last = c.put_done(leader, "k", "last");
    CHECK(rejected(c.found(c.read(follower, after(last), mode, last.value, seconds(2)))));
    activate_mutant("");
  }
}

// Nothing wakes it: the entry that it waits for changes no key below its prefix.
TEST_CASE("a snapshot of other keys is returned when a server that lags has the index", "[actors][changes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  c.put_done(leader, "a/k", "old");
  REQUIRE(c.converged());
  keep_entries_from(c, follower);
  const auto newest = c.put_done(leader, "z/k", "new");
  auto requested = after(newest, {}, state::kv_changes::what::snapshot);
  std::get<state::kv_changes>(requested).prefixes = {"a/"};
  const auto r = c.read(follower, std::move(requested), consistency::stale, newest.value, seconds(60));
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(r));
  c.net().filter = nullptr;
  const auto begun = c.now();
  CHECK(rows_of(c.found(r)).applied >= newest);
  CHECK(c.answers(r).at - begun < seconds(5));
}

// A snapshot of a million keys took 200 ms without any other response.
TEST_CASE("other reads are answered while a snapshot is read, which is of the moment when it began",
          "[actors][changes]") {
  cluster_options o;
  o.machine.long_read_rows = 32;
  o.machine.read_in_a_slice = 16;
  cluster_fixture c(o);
  const auto node = c.leader();
  log_index newest;
  for (int i = 0; i < 100; ++i)
    newest = c.put_done(node, "k/" + std::to_string(i), "v");
  c.settle();
  const auto snapshot = c.read(node, after(newest, {}, state::kv_changes::what::snapshot), consistency::stale);
  const auto other = c.get(node, "k/0", consistency::stale);
  const auto later = c.put(node, "k/later", "v");
  c.settle();
  CHECK(c.answered(other));
  CHECK_FALSE(c.answered(snapshot));
  const auto r = c.found(snapshot);
  CHECK(rows_of(r).rows.size() == 100);
  CHECK(rows_of(r).reached.index >= newest);
  CHECK(rows_of(r).reached.index < c.written(later).index);
}

TEST_CASE("without a leader a cursor above the applied index waits, and is decided when there is one",
          "[actors][changes]") {
  // Stale reads work without a leader; but no server can know whether a cursor is of this history.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto newest = c.put_done(leader, "k", "v");
  REQUIRE(c.converged());
  const auto others = c.all_but(leader);
  c.net().partition({{others[0]}, {leader, others[1]}});
  c.pass(seconds(1));
  const log_index strange{newest.value + 50};
  const auto short_one = c.read(others[0], after(strange), consistency::stale, strange.value, seconds(2));
  const auto long_one = c.read(others[0], after(strange), consistency::stale, strange.value, seconds(60));
  const auto strict = c.read(others[0], after(strange), consistency::normal, strange.value, seconds(60));
  const auto found = c.found(short_one);
  CHECK(c.answers(short_one).at - c.now() < seconds(3));
  CHECK_FALSE(rows_of(found).gone);
  CHECK(rows_of(found).list.empty());
  CHECK(rows_of(found).reached == state::change_position{strange}); // it sends the same request again
  CHECK(failed(c.found(strict)));
  c.pass(seconds(8));
  CHECK_FALSE(c.answered(long_one));
  // A cursor of this history works as before.
  CHECK_FALSE(rows_of(c.found(c.read(others[0], after(newest), consistency::stale))).gone);
  c.net().heal();
  CHECK(rejected(c.found(long_one)));
}

TEST_CASE("a client that disconnects while its cursor is looked up is dropped", "[actors][changes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto newest = c.put_done(leader, "k", "v");
  const auto others = c.all_but(leader);
  c.net().partition({{others[0]}, {leader, others[1]}});
  c.pass(seconds(1));
  const auto r =
      c.read(others[0], after(log_index{newest.value + 50}), consistency::stale, newest.value + 50, seconds(60));
  c.pass(milliseconds(300));
  c.cancel(r);
  c.net().heal();
  c.pass(seconds(65));
  CHECK_FALSE(c.answered(r));
}

TEST_CASE("a cursor that names another cluster is rejected without a leader", "[actors][changes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto newest = c.put_done(leader, "k", "v");
  REQUIRE(c.converged());
  const auto others = c.all_but(leader);
  c.net().partition({{others[0]}, {leader, others[1]}});
  c.pass(seconds(1));
  const auto strange = state::history_id::of(c.cluster_id(leader) + 1, {});
  for (const auto index : {log_index{1}, newest, log_index{newest.value + 50}}) {
    const auto r = c.read(others[0], after(index, strange), consistency::stale, index.value, seconds(60));
    c.settle();
    REQUIRE(c.answered(r));
    CHECK(rejected(c.found(r)));
  }
}

TEST_CASE("all servers name the same history, once all can read it", "[actors][changes]") {
  // One server is of 0.2.0: a client that connected to it with such a cursor would get only later
  // changes, without notice.
  cluster_options o;
  o.start = false;
  cluster_fixture c(o);
  const std::size_t old = 2;
  c.set_level(old, state::named_history_level - 1);
  for (std::size_t node = 0; node < 3; ++node)
    c.start(node);
  c.put_done(c.leader(), "k", "v");
  REQUIRE(c.converged());
  CHECK(history_at(c, 0).is_none());
  CHECK(history_at(c, 1).is_none());
  // While the old server is away it still counts as one of the earlier version, however long that
  // lasts.
  c.crash(old);
  c.pass(seconds(70));
  CHECK(history_at(c, 0).is_none());
  c.set_level(old, state::own_level);
  c.start(old);
  c.leader();
  c.put_done(c.leader(), "k", "v2");
  REQUIRE(c.converged());
  const auto named = state::history_id::of(c.cluster_id(0), {});
  for (std::size_t node = 0; node < 3; ++node)
    CHECK(history_at(c, node) == named);
  // Downgraded to the old version.
  c.crash(old);
  c.set_level(old, state::named_history_level - 1);
  c.start(old);
  c.leader();
  REQUIRE(c.converged());
  CHECK(history_at(c, 0).is_none());
  CHECK(history_at(c, 1).is_none());
}

TEST_CASE("a lost member does not keep the others from naming the history", "[actors][changes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  REQUIRE(c.converged());
  const auto lost = c.all_but(leader).front();
  c.crash(lost);
  for (const auto node : c.all_but(lost)) {
    c.crash(node);
    c.start(node);
  }
  const auto left = c.all_but(lost);
  c.put_done(c.leader(left), "k", "v2");
  CHECK(history_at(c, left[0]).is_none()); // it may be on its way, in its old version
  c.pass(seconds(61));
  CHECK(history_at(c, left[0]) == state::history_id::of(c.cluster_id(left[0]), {}));
}
