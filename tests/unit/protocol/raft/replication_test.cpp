#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

/// Makes a node start with a log of these terms; entry 1 is the configuration of all.
void start_with(raft_cluster& c, std::uint64_t id, const configuration& all, const std::vector<std::uint64_t>& terms,
                std::uint64_t term) {
  auto& n = c.add_node(id);
  c.crash(id);
  for (std::uint64_t i = 1; i <= terms.size(); ++i) {
    const bool first = i == 1;
    n.log.push_back({log_index{i}, term_id{terms[i - 1]}, cluster_time{i},
                     first ? entry_kind::configuration : entry_kind::command,
                     make_payload(first ? encode(all) : std::to_string(i) + "@" + std::to_string(terms[i - 1]))});
  }
  n.hard = {term_id{term}, {}};
  c.restart(id);
}

std::size_t count_appends(const raft_cluster& c, const ready& r, std::uint64_t to) {
  std::size_t n = 0;
  for (const auto& m : r.send_now)
    n += m.to.value == to && std::holds_alternative<append_entries>(m.body) ? 1 : 0;
  return n;
}

} // namespace

// Dissertation figure 3.6 (figure 7 of the paper): the leader and all kinds of followers.
TEST_CASE("figure 7: every log becomes equal to the leader's") {
  const auto all = make_config({1, 2, 3, 4, 5, 6, 7});
  raft_cluster c;
  start_with(c, 1, all, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6}, 7);
  start_with(c, 2, all, {1, 1, 1, 4, 4, 5, 5, 6, 6}, 6);          // a: one entry missing
  start_with(c, 3, all, {1, 1, 1, 4}, 4);                         // b: many missing
  start_with(c, 4, all, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6}, 6);    // c: one too many
  start_with(c, 5, all, {1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7}, 7); // d: two of a later term
  start_with(c, 6, all, {1, 1, 1, 4, 4, 4, 4}, 4);                // e: missing and too many
  start_with(c, 7, all, {1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3}, 3);    // f: two dead terms
  for (int i = 0; i < 100 && c.leader() != 1; ++i) {
    c.tick_all();
    std::erase_if(c.in_flight(),
                  [](const message& m) { return m.from.value != 1 && std::holds_alternative<vote_request>(m.body); });
    c.deliver_all();
  }
  REQUIRE(c.leader() == 1);
  CHECK(c.core(1).term() == term_id{8});
  c.run(6);
  for (std::uint64_t id = 1; id <= 7; ++id) {
    INFO(c.core(id).describe());
    CHECK(c.core(id).last_index() == log_index{11});
    CHECK(c.core(id).commit_index() == log_index{11});
    CHECK(c.core(id).term_at(log_index{10}) == term_id{6});
    CHECK(c.core(id).term_at(log_index{11}) == term_id{8});
  }
  c.check_logs();
}

TEST_CASE("many proposals share one append per follower and one batch for the disk") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(2);
  auto& core = c.core(l);
  for (int i = 0; i < 5; ++i)
    REQUIRE(std::holds_alternative<log_index>(core.propose({make_payload("a"), make_payload("b")}, c.wall())));
  const auto other = l == 1 ? 2u : 1u;
  // The window of 8 entries per message makes two of the ten.
  auto r = core.take_ready();
  REQUIRE(r.persist);
  CHECK(r.persist->entries.size() == 10);
  CHECK(count_appends(c, r, other) == 2);
  CHECK(r.committed.empty());
}

TEST_CASE("many appends before one ready make one batch and one answer, after it is on disk") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  const auto f = l == 1 ? 2u : 1u;
  c.run(2);
  for (int i = 0; i < 3; ++i)
    c.propose(l, "v");
  auto& follower = c.core(f);
  for (const auto& m : std::exchange(c.in_flight(), {}))
    if (m.to.value == f)
      follower.step(m, c.now());
  auto r = follower.take_ready();
  REQUIRE(r.persist);
  CHECK(r.persist->entries.size() == 3);
  CHECK(r.send_now.empty()); // nothing is acknowledged before it is on disk
  CHECK(follower.take_ready().empty());
  follower.persisted(r.persist->token, c.now());
  r = follower.take_ready();
  REQUIRE(r.send_now.size() == 1);
  CHECK(std::get<append_reply>(r.send_now[0].body).match == follower.last_index());
}

TEST_CASE("a heartbeat is answered at once while the disk is busy, with the durable index") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  const auto f = l == 1 ? 2u : 1u;
  c.run(2);
  const auto before = c.core(f).last_index();
  c.stall_disk(f, true);
  c.propose(l, "v");
  c.deliver_all();
  for (const auto& p : c.core(l).progress())
    if (p.id.value == f)
      CHECK(p.match == before);
  c.run(100); // far longer than an election time: the follower responds throughout
  CHECK(c.leader() == l);
  for (const auto& p : c.core(l).progress())
    if (p.id.value == f) {
      CHECK(p.match == before);
      CHECK(p.silent_ticks <= 2);
    }
}

TEST_CASE("a full window stops appends until something is confirmed") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(2);
  const auto f = l == 1 ? 2u : 1u;
  for (int i = 0; i < 10; ++i)
    c.propose(l, "v");
  std::size_t appends = 0;
  for (const auto& m : c.in_flight())
    appends += m.to.value == f ? 1 : 0;
  CHECK(appends == small_limits().inflight_appends_max);
  c.deliver_all();
  CHECK(c.core(f).last_index() == c.core(l).last_index());
}

namespace {

constexpr std::chrono::milliseconds gap{2};

/// Three servers in agreement, whose leader coalesces entries. @returns the leader
std::uint64_t start_gathering(raft_cluster& c) {
  auto lim = small_limits();
  lim.append_gap = gap;
  lim.coalesced_bytes_max = 1000;
  lim.append_entries_max = 4096;
  c.start(3, lim);
  const auto l = c.elect();
  c.run(2);
  c.deliver_all();
  return l;
}

/// The number of entries in each append in flight to a server.
std::vector<std::size_t> appends_to(raft_cluster& c, std::uint64_t to) {
  std::vector<std::size_t> sizes;
  for (const auto& m : c.in_flight())
    if (const auto* a = std::get_if<append_entries>(&m.body); a != nullptr && m.to.value == to && !a->entries.empty())
      sizes.push_back(a->entries.size());
  return sizes;
}

} // namespace

TEST_CASE("entries that arrive during an append are sent together, after its response") {
  raft_cluster c;
  const auto l = start_gathering(c), f = l == 1 ? std::uint64_t{2} : std::uint64_t{1};
  CHECK_FALSE(c.core(l).coalesces());
  for (int i = 0; i < 10; ++i)
    c.propose(l, "v");
  CHECK(appends_to(c, f) == std::vector<std::size_t>{1});
  CHECK(c.core(l).coalesces());
  const auto answers = [&](const message& m) { return m.from.value == f && m.to.value == l; };
  while (std::none_of(c.in_flight().begin(), c.in_flight().end(), answers))
    c.deliver(0);
  const auto answer = std::find_if(c.in_flight().begin(), c.in_flight().end(), answers);
  c.deliver(static_cast<std::size_t>(answer - c.in_flight().begin()));
  CHECK(appends_to(c, f) == std::vector<std::size_t>{9});
  c.deliver_all();
  CHECK(c.core(f).last_index() == c.core(l).last_index());
  CHECK_FALSE(c.core(l).coalesces());
}

TEST_CASE("entries wait no longer than the gap for a missing response") {
  raft_cluster c;
  const auto l = start_gathering(c), f = l == 1 ? std::uint64_t{2} : std::uint64_t{1};
  c.core(l).time_is(c.now());
  c.propose(l, "first");
  c.propose(l, "second");
  c.core(l).time_is(c.now() + gap - std::chrono::nanoseconds(1));
  c.settle(l);
  CHECK(appends_to(c, f) == std::vector<std::size_t>{1});
  CHECK(c.core(l).coalesces());
  c.core(l).time_is(c.now() + gap);
  CHECK_FALSE(c.core(l).coalesces());
  c.settle(l);
  CHECK(appends_to(c, f) == std::vector<std::size_t>{1, 1});
}

TEST_CASE("after a large append nothing waits") {
  raft_cluster c;
  const auto l = start_gathering(c), f = l == 1 ? std::uint64_t{2} : std::uint64_t{1};
  c.propose(l, std::string(999, 'x'));
  c.propose(l, "second");
  CHECK(appends_to(c, f).size() == 1);
  c.deliver_all();
  c.propose(l, std::string(1000, 'x'));
  c.propose(l, "second");
  CHECK(appends_to(c, f).size() == 2);
}

TEST_CASE("proposals are rejected while too much is uncommitted, but never forever") {
  auto lim = small_limits();
  lim.uncommitted_bytes_max = 100;
  raft_cluster c;
  c.start(3, lim);
  const auto l = c.elect();
  c.run(2);
  auto& core = c.core(l);
  CHECK(std::holds_alternative<log_index>(
      core.propose({make_payload(std::string(500, 'x'))}, c.wall()))); // alone it may be larger
  const auto refused = core.propose({make_payload("x")}, c.wall());
  REQUIRE(std::holds_alternative<propose_error>(refused));
  CHECK(std::get<propose_error>(refused) == propose_error::too_much_uncommitted);
  c.settle(l);
  c.deliver_all();
  CHECK(std::holds_alternative<log_index>(core.propose({make_payload("x")}, c.wall())));
}

TEST_CASE("cluster time never goes back, whatever the leader's clock shows") {
  raft_cluster c;
  c.start(1);
  c.tick_all();
  c.core(1).propose({make_payload("a")}, cluster_time{5000});
  c.core(1).propose({make_payload("b")}, cluster_time{3000});
  const auto r = c.core(1).take_ready();
  REQUIRE(r.persist);
  REQUIRE(r.persist->entries.size() == 2);
  CHECK(r.persist->entries[0].time == cluster_time{5000});
  CHECK(r.persist->entries[1].time == cluster_time{5000});
}

// A candidate could count a vote which is not on its disk, and lead. After a crash it would have
// lost the vote, and could grant another one in the same term.
TEST_CASE("a candidate's own vote counts only when it is on disk") {
  raft::core one(node_id{1}, small_limits(), {}, 1);
  REQUIRE(one.bootstrap(make_config({1, 2, 3})));
  local_time now{std::chrono::seconds(1)};
  std::uint64_t written = 0;
  const auto granted = [&](bool pre_vote) {
    for (std::uint64_t voter : {2, 3})
      one.step({node_id{voter}, node_id{1}, term_id{2}, vote_reply{pre_vote, true}}, now);
    if (const auto r = one.take_ready(); r.persist)
      written = r.persist->token;
  };
  if (const auto r = one.take_ready(); r.persist)
    one.persisted(r.persist->token, now);
  for (int i = 0; i < 100 && one.soft().role == role::follower; ++i)
    one.tick(now += small_limits().tick);
  REQUIRE(one.soft().role == role::pre_candidate);
  granted(true);
  REQUIRE(one.soft().role == role::candidate);
  REQUIRE(one.voted_for() == node_id{1});
  granted(false);
  CHECK(one.soft().role == role::candidate);
  one.persisted(written, now);
  CHECK(one.soft().role == role::leader);
}

TEST_CASE("the log is truncated up to a checkpoint: entries before it are dropped, those not applied stay") {
  raft_cluster c;
  c.start(1);
  c.tick_all();
  for (int i = 0; i < 10; ++i)
    c.propose(1, "v");
  auto& core = c.core(1);
  const auto meta = core.meta_at_commit();
  CHECK(meta.index == log_index{12});
  CHECK(meta.config == make_config({1}));
  CHECK(core.compact(meta, 4) == log_index{9});
  CHECK(core.first_index() == log_index{9});
  CHECK(core.meta_at(log_index{10}).term == core.term());
  CHECK(core.compact(meta, 100) == log_index{9});
  core.propose({make_payload("not applied")}, c.wall());
  CHECK(core.compact({log_index{13}, core.term(), {}, meta.config}, 0) == log_index{13});
  CHECK(core.last_index() == log_index{13});
}

// docs/internals/pitfalls.md R16: the same leader replaces correct entries, in the same term. No correct
// leader does that. The follower must not treat as committed what it has truncated again.
TEST_CASE("a leader that contradicts itself within its term stops no server") {
  raft::core one(node_id{1}, small_limits(), {}, 1);
  REQUIRE(one.bootstrap(make_config({1, 2, 3})));
  const local_time now{std::chrono::seconds(1)};
  const auto append = [&](std::uint64_t count, std::uint64_t term, std::uint64_t commit) {
    append_entries a{log_index{1}, term_id{1}, log_index{commit}, 0, {}};
    for (std::uint64_t i = 0; i < count; ++i)
      a.entries.push_back({log_index{2 + i}, term_id{term}, {}, entry_kind::command, make_payload("x")});
    one.step({node_id{2}, node_id{1}, term_id{5}, std::move(a)}, now);
    CHECK(check_node(one).value_or("") == "");
  };
  append(5, 3, 1);
  CHECK(one.last_index() == log_index{6});
  append(1, 4, 6);
  CHECK(one.last_index() == log_index{2});
  CHECK(one.commit_index() == log_index{2});
}

// The same, by entries that this server has dropped: it cannot compare them with its own. The one
// after them would follow an entry of a newer term, which no log has.
TEST_CASE("an append that begins before the log adds no entry of an earlier term than the log's beginning") {
  const snapshot_meta checkpoint{log_index{10}, term_id{5}, {}, make_config({1, 2, 3})};
  raft::core one(node_id{1}, small_limits(), {{term_id{5}, {}}, checkpoint, {}}, 1);
  append_entries a{log_index{8}, term_id{1}, log_index{8}, 0, {}};
  for (std::uint64_t i = 9; i <= 11; ++i)
    a.entries.push_back({log_index{i}, term_id{1}, {}, entry_kind::command, make_payload("x")});
  one.step({node_id{2}, node_id{1}, term_id{6}, a}, local_time{std::chrono::seconds(1)});
  CHECK(one.last_index() == log_index{10});
  CHECK(check_node(one).value_or("") == "");
  a.entries.back().term = term_id{5};
  one.step({node_id{2}, node_id{1}, term_id{6}, a}, local_time{std::chrono::seconds(1)});
  CHECK(one.last_index() == log_index{11});
}

// A follower whose disk is full accepts no entry. Judged by its own commit index, it would never
// lag.
TEST_CASE("a follower knows its leader's commit index, even while it can write nothing") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  REQUIRE(l != 0);
  c.run(5);
  c.deliver_all();
  const std::uint64_t f = l == 1 ? 2 : 1;
  CHECK(c.core(f).leader_commit() == c.core(l).commit_index());
  c.stall_disk(f, true);
  const auto before = c.core(f).commit_index();
  for (int i = 0; i < 300; ++i) {
    REQUIRE(c.propose(l, "a"));
    c.deliver_all();
  }
  c.run(small_limits().heartbeat_ticks + 1);
  c.deliver_all();
  CHECK(c.core(l).commit_index().value >= before.value + 300);
  CHECK(c.core(l).leader_commit() == c.core(l).commit_index());
  CHECK(c.core(f).leader_commit() == c.core(l).commit_index());
}

TEST_CASE("entries committed by a previous leader are not attributed to the next one") {
  raft_cluster c;
  c.start(3);
  const auto old = c.elect();
  REQUIRE(old != 0);
  c.run(5);
  c.deliver_all();
  const std::uint64_t f = old == 1 ? 2 : 1, other = 6 - old - f;
  auto& follower = c.core(f);
  // A message that no correct leader sends: it is far ahead of its own log.
  follower.step(
      {node_id{old}, node_id{f}, follower.term(),
       append_entries{follower.last_index(), follower.term_at(follower.last_index()), log_index{1000}, 1, {}}},
      c.now());
  CHECK(follower.leader_commit() == log_index{1000});
  CHECK(follower.commit_index() == follower.last_index());
  // One beyond all bounds is ignored.
  follower.step(
      {node_id{old}, node_id{f}, follower.term(),
       append_entries{
           follower.last_index(), follower.term_at(follower.last_index()), log_index{std::uint64_t{1} << 63}, 1, {}}},
      c.now());
  CHECK(follower.leader_commit() == log_index{1000});
  follower.step(
      {node_id{other}, node_id{f}, follower.term().next(),
       append_entries{follower.last_index(), follower.term_at(follower.last_index()), follower.commit_index(), 1, {}}},
      c.now());
  CHECK(follower.soft().leader == node_id{other});
  CHECK(follower.leader_commit() == follower.commit_index());
}
