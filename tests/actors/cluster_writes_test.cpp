// Forming a cluster, and the three outcomes of a write: done, refused, unknown.

#include "tests/actors/cluster_fixture.hpp"

#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

#include <caf/send.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;
using wire::call_outcome;

namespace {

bool leaderless(cluster_fixture& c, const std::vector<std::size_t>& nodes) {
  for (auto i : nodes)
    if (!c.view(i).soft.leader.is_zero())
      return false;
  return true;
}

} // namespace

TEST_CASE("three empty servers form one cluster, two do not", "[actors][formation]") {
  // bootstrap_expect is 3. Two of them meet first: if they formed a cluster, the third might form
  // another one with a fourth.
  cluster_options o;
  o.start = false;
  cluster_fixture c(o);
  c.start(0);
  c.start(1);
  c.pass(seconds(10));
  CHECK(leaderless(c, {0, 1}));
  CHECK(c.cluster_id(0) == 0);
  CHECK(c.log(0).kept().entries.empty());

  c.start(2);
  c.leader();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(c.view(i).config.voters.size() == 3);
    CHECK(c.cluster_id(i) != 0);
    CHECK(c.cluster_id(i) == c.cluster_id(0));
  }
}

TEST_CASE("of five servers that expect three, three form the cluster, and the others join it", "[actors][formation]") {
  cluster_options o;
  o.nodes = 5;
  o.expect = 3;
  o.shuffle = GENERATE(0u, 1u, 2u, 3u);
  cluster_fixture c(o);
  const auto leader = c.leader({0, 1, 2, 3, 4});
  REQUIRE(c.until([&] { return c.view(leader).config.voters.size() == 5 && !c.view(leader).config.joint(); }));
  c.pass(seconds(1));
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(c.cluster_id(i) == c.cluster_id(leader));
}

TEST_CASE("joining servers that expect a cluster of their own wait to be admitted to the existing one",
          "[actors][formation]") {
  cluster_options o;
  o.nodes = 6;
  o.expect = 3;
  o.start = false;
  cluster_fixture c(o);
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  const auto leader = c.leader({0, 1, 2});
  for (std::size_t i = 3; i < 6; ++i)
    c.start(i);
  c.pass(seconds(20));
  for (std::size_t i = 3; i < 6; ++i) {
    CHECK(c.cluster_id(i) == 0);
    CHECK(c.log(i).kept().entries.empty());
  }
  CHECK(c.view(leader).config.members.size() == 3); // without an operator

  // One server is added by an operator.
  const auto added = c.add_peer(3, "10.0.0.5:8300"); // through a server that is not a member: it knows no leader
  const auto requested = c.add_peer(leader, "10.0.0.5:8300");
  const auto answer = c.written(requested);
  CHECK(answer.outcome == wire::call_outcome::done);
  CHECK(std::get<bool>(answer.reply));
  REQUIRE(c.until([&] { return c.view(leader).config.is_voter(c.id_of(4)); }));
  CHECK(c.view(leader).config.members.size() == 4);
  CHECK(c.written(added).outcome == wire::call_outcome::refused);

  // Another one by its node ID.
  const auto by_id = c.written(c.operate(leader, forward::add_member{{}, c.member(5).uuid}));
  CHECK(std::get<bool>(by_id.reply));
  REQUIRE(c.until([&] { return c.view(leader).config.is_voter(c.id_of(5)); }));
  CHECK_FALSE(c.view(leader).config.contains(c.id_of(3)));

  const auto nobody = c.written(c.add_peer(leader, "10.0.0.77:8300"));
  REQUIRE(std::holds_alternative<state::refusal>(nobody.reply));
  CHECK(std::get<state::refusal>(nobody.reply).text.find("10.0.0.77:8300") != std::string::npos);
}

TEST_CASE("a write is answered once, by the node that received it", "[actors][writes]") {
  // The actors of all nodes run in any order. The client gets one response, with the index of the
  // entry. If it wrote through a follower, it reads the value there at once, even with a stale
  // read.
  const auto shuffle = GENERATE(0u, 1u, 2u, 3u, 4u, 5u);
  CAPTURE(shuffle);
  cluster_options o;
  o.shuffle = shuffle;
  o.seed = shuffle + 1;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();

  const auto through_leader = c.put(leader, "a", "1");
  CHECK(c.written(through_leader).outcome == call_outcome::done);
  CHECK(c.stale(leader, "a") == "1");
  const auto through_follower = c.put(follower, "b", "2");
  REQUIRE(c.until([&] { return c.answered(through_follower); }));
  const auto seen = c.get(follower, "b", consistency::stale);
  CHECK(value_of(c.found(seen)) == "2");

  c.pass(seconds(40));
  CHECK(c.written(through_leader).index.value > 0);
  CHECK(c.written(through_follower).index > c.written(through_leader).index);
  CHECK(std::get<bool>(c.written(through_follower).reply));
  CHECK(times_in_log(c.log(leader), set_key("b", "2")) == 1);
}

TEST_CASE("a peer that cannot be reached but is still heard is not dropped", "[actors][writes][F13]") {
  // Our connection to it broke, its own did not: the leader handles what it forwards.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const bool received = GENERATE(false, true);
  caf::anon_send(c.peer(leader), peer_lost{c.id_of(follower), received});
  c.net().inject(follower, leader,
                 wire::forward_call{request_id{77}, wire::call_kind::propose,
                                    make_payload(wire::encode_command(set_key("k", "v")))});
  c.pass(milliseconds(50));
  CHECK(times_in_log(c.log(leader), set_key("k", "v")) == (received ? 1u : 0u));
}

TEST_CASE("a write that the state machine rejects early costs no log entry", "[actors][writes]") {
  // An acquire without a valid session is refused before the log, on a follower as well.
  cluster_fixture c;
  const auto leader = c.leader();
  c.pass(seconds(3)); // the agents have registered their nodes
  const auto before = c.log(leader).kept().entries.size();
  state::kv_write lock;
  lock.op.verb = state::kv_verb::lock;
  lock.op.key = "l";
  lock.op.value = make_payload({});
  lock.op.session = "me";
  const auto r = c.written(c.write(c.all_but(leader).front(), lock));
  CHECK(r.outcome == call_outcome::done);
  CHECK(std::holds_alternative<state::refusal>(r.reply));
  CHECK(c.log(leader).kept().entries.size() == before);
}

// A follower ends the connection at a frame above 64 MiB: with such an entry the leader would lose
// its quorum, after each restart again.
TEST_CASE("a command that is too large for a frame is refused, and the next one is committed", "[actors][writes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const std::string value(wire::frame_bytes_max / 2 + 1, 'v');
  const auto text = [&](const std::string& key) {
    return "command of " + std::to_string(wire::encode_command(set_key(key, value)).size()) +
           " bytes, the log takes 33554432";
  };
  for (const auto node : {leader, follower}) {
    const auto r = c.written(c.put(node, "a", value));
    CHECK(r.outcome == call_outcome::refused);
    CHECK(r.text == text("a"));
  }
  CHECK(c.net().calls_forwarded_by(follower) == 0);
  // A server of an earlier version forwards it.
  c.net().inject(follower, leader,
                 wire::forward_call{request_id{77}, wire::call_kind::propose,
                                    make_payload(wire::encode_command(set_key("b", value)))});
  REQUIRE(c.until([&] { return !c.net().sent<wire::forward_reply>(follower).empty(); }));
  const auto replies = c.net().sent<wire::forward_reply>(follower);
  CHECK(replies.back().second.id == request_id{77});
  CHECK(replies.back().second.outcome == call_outcome::refused);
  CHECK(replies.back().second.bytes == text("b"));
  c.put_done(follower, "c", "1");
  CHECK(c.stale(leader, "c") == "1");
  CHECK(c.stale(leader, "a") == "(none)");
  CHECK(c.stale(leader, "b") == "(none)");
}

// The follower would end the connection, and with it all other writes that it has forwarded.
TEST_CASE("a reply that is too large for a frame is unknown to the server that forwarded the write",
          "[actors][writes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  state::catalog_register r;
  r.node.node = "n";
  r.node.address = "10.0.0.1";
  r.checks.resize(1);
  r.checks[0].node = "n";
  r.checks[0].check_id = r.checks[0].name = "alive";
  r.checks[0].output = std::string(4'000'000, 'x');
  REQUIRE(c.written(c.write(leader, r)).outcome == call_outcome::done);
  c.pass(seconds(1));
  state::txn t;
  r.checks[0].output.clear();
  t.ops.resize(17, state::check_op{state::catalog_verb::get, r.checks[0]});
  t.ops.emplace_back(std::get<state::kv_write>(set_key("w", "1")).op);
  const auto early = c.written(c.write(follower, t));
  REQUIRE(std::holds_alternative<state::refusal>(early.reply));
  CHECK(std::get<state::refusal>(early.reply).text.starts_with("Answer too large: "));
  // The rows have become larger meanwhile, so it is proposed.
  c.net().inject(follower, leader,
                 wire::forward_call{request_id{77}, wire::call_kind::propose, make_payload(wire::encode_command(t))});
  const auto replied = [&] {
    const auto all = c.net().sent<wire::forward_reply>(follower);
    return !all.empty() && all.back().second.id == request_id{77};
  };
  REQUIRE(c.until(replied));
  CHECK(c.net().sent<wire::forward_reply>(follower).back().second.outcome == call_outcome::unknown);
  CHECK(c.stale(leader, "w") == "1");
  c.put_done(follower, "c", "1");
  CHECK(c.converged());
}

// Its tables do not have the keys that make the reply too large. As an entry, the transaction would
// be carried out by all servers.
TEST_CASE("a server that is behind catches up before it counts the trees of a transaction", "[actors][writes]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  REQUIRE(c.converged());
  c.net().partition({{follower}, c.all_but(follower)});
  for (const char* key : {"t/1", "t/2", "t/3", "t/4"})
    c.put_done(leader, key, std::string(1'000'000, 'v'));
  c.net().heal();
  auto tree = std::get<state::kv_write>(set_key("t/", "")).op;
  tree.verb = state::kv_verb::get_tree;
  state::txn t;
  t.ops.resize(13, tree); // 69 MB, with base64
  t.ops.emplace_back(std::get<state::kv_write>(set_key("w", "1")).op);
  const auto r = c.written(c.write(follower, t));
  REQUIRE(std::holds_alternative<state::refusal>(r.reply));
  CHECK(std::get<state::refusal>(r.reply).text.starts_with("Answer too large: "));
  CHECK(c.stale(leader, "w") == "(none)");
  CHECK(c.converged());
}

TEST_CASE("forwarded_once: a call that was forwarded is never passed on", "[actors][writes][R24]") {
  // Two servers each believe that the other one leads. If they forwarded calls that were forwarded
  // to them, one write would travel in circles and be proposed each time that it passes a leader.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto asker = c.all_but(leader)[0];
  const auto requested = c.all_but(leader)[1];

  SECTION("a follower hands it back") {
    c.net().inject(asker, requested,
                   wire::forward_call{request_id{77}, wire::call_kind::propose,
                                      make_payload(wire::encode_command(set_key("k", "v")))});
    c.pass(seconds(1));
    const auto replies = c.net().sent<wire::forward_reply>(asker);
    REQUIRE(replies.size() == 1);
    CHECK(replies.front().first == requested);
    CHECK(replies.front().second.id == request_id{77});
    CHECK(replies.front().second.outcome == call_outcome::retry);
  }
  SECTION("a leader that is one no longer, before it could decide, hands it back") {
    // Renewals wait until the leader's own term has a committed entry: this one never gets there.
    const auto id = c.session(asker, seconds(10));
    c.crash(leader, true);
    c.net().filter = [&](std::size_t, std::size_t, const wire::frame& f) {
      const auto* m = std::get_if<raft::message>(&f);
      return m == nullptr || !std::holds_alternative<raft::append_reply>(m->body);
    };
    REQUIRE(c.until([&] {
      return c.view(requested).soft.role == raft::role::leader || c.view(asker).soft.role == raft::role::leader;
    }));
    const auto young = c.view(requested).soft.role == raft::role::leader ? requested : asker;
    const auto other = young == requested ? asker : requested;
    c.net().inject(other, young, wire::forward_call{request_id{78}, wire::call_kind::renew_session, make_payload(id)});
    c.settle();
    REQUIRE(c.view(young).soft.role == raft::role::leader);
    const auto replies = [&] {
      auto list = c.net().sent<wire::forward_reply>(other);
      std::erase_if(list, [](const auto& r) { return r.second.id != request_id{78}; });
      return list;
    };
    CHECK(replies().empty());
    REQUIRE(c.until([&] { return c.view(young).soft.role != raft::role::leader; }));
    // The other one leads now. The call must return; it must not be forwarded there.
    c.net().cut(young, other);
    c.net().heal();
    c.net().filter = nullptr;
    c.pass(seconds(8));
    REQUIRE(replies().size() == 1);
    CHECK(replies().front().second.outcome == call_outcome::retry);
  }
  const auto calls = c.net().calls_forwarded_by(requested) + c.net().calls_forwarded_by(leader);
  CHECK(calls == 0);
}

TEST_CASE("answers of the leader find their request", "[actors][writes][R24]") {
  // Gateways number their requests alike on every node. A false for one client and a true for
  // another must not be mixed up, and a response from a server that got no request must be ignored.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto one = c.all_but(leader)[0];
  const auto two = c.all_but(leader)[1];
  c.put_done(leader, "k", "old");

  c.net().hold(leader, one);
  state::kv_write stale_cas;
  stale_cas.op.verb = state::kv_verb::cas;
  stale_cas.op.key = "k";
  stale_cas.op.value = make_payload("never");
  stale_cas.op.index = log_index{1};
  const auto refused = c.write(one, stale_cas);
  const auto granted = c.put(two, "k", "new");
  REQUIRE(refused.id == granted.id);
  CHECK(std::get<bool>(c.written(granted).reply));
  CHECK_FALSE(c.answered(refused));
  c.net().inject(two, one, wire::forward_reply{refused.id, call_outcome::done, log_index{1}, wire::encode_reply(true)});
  c.settle();
  CHECK_FALSE(c.answered(refused));

  c.net().release();
  const auto r = c.written(refused);
  CHECK(r.outcome == call_outcome::done);
  CHECK_FALSE(std::get<bool>(r.reply));
  CHECK(c.stale(one, "k") == "new");
}

TEST_CASE("without a leader a write waits for the next one until its deadline", "[actors][writes][C2]") {
  // An election takes a fraction of a second. If requests failed meanwhile, locks would be lost
  // with every change of leader.
  cluster_fixture c;
  c.leader();
  c.net().partition({{0}, {1}, {2}});
  REQUIRE(c.until([&] { return leaderless(c, {0, 1, 2}); }));

  SECTION("the next leader decides it") {
    const auto w = c.put(0, "k", "v");
    c.pass(seconds(3));
    CHECK_FALSE(c.answered(w));
    c.net().heal();
    CHECK(c.written(w).outcome == call_outcome::done);
    CHECK(c.stale(0, "k") == "v");
  }
  SECTION("after the hold time it is refused, and does not happen later") {
    const auto w = c.put(0, "k", "v");
    const auto renewal = c.renew(0, "00000000-0000-4000-8000-000000000001");
    c.pass(milliseconds(6900));
    CHECK_FALSE(c.answered(w));
    c.pass(milliseconds(200));
    const auto r = c.written(w);
    CHECK(r.outcome == call_outcome::refused);
    CHECK(r.text == "No cluster leader");
    CHECK(c.answered(renewal));
    c.net().heal();
    CHECK(value_of(c.found(c.get(0, "k"))) == "(none)");
    c.pass(seconds(10));
    CHECK(c.stale(0, "k") == "(none)");
  }
  CHECK(c.converged());
}

TEST_CASE("a write of a leader that is cut off is of unknown outcome", "[actors][writes][R23][J5]") {
  // The leader has appended the entry and waits for a quorum. It cannot know the outcome: "failed"
  // would be wrong if the entry commits, and a retry would apply it twice.
  cluster_fixture c;
  const auto old = c.leader();
  const auto others = c.all_but(old);

  SECTION("it is lost") {
    c.net().partition({{old}, others});
    const auto w = c.put(old, "k", "v");
    const auto next = c.leader(others);
    const auto r = c.written(w);
    CHECK(r.outcome == call_outcome::unknown);
    CHECK(r.text == "leadership lost while committing log");
    c.put_done(next, "other", "1");
    c.net().heal();
    CHECK(c.converged());
    CHECK(c.stale(old, "k") == "(none)");
    CHECK(times_in_log(c.log(old), set_key("k", "v")) == 0);
  }
  SECTION("it is committed by the next leader, once") {
    for (auto i : others)
      c.net().cut(i, old);
    const auto w = c.put(old, "k", "v");
    c.leader(others);
    CHECK(c.written(w).outcome == call_outcome::unknown);
    c.net().heal();
    CHECK(c.converged());
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(c.stale(i, "k") == "v");
      CHECK(times_in_log(c.log(i), set_key("k", "v")) == 1);
    }
  }
  c.pass(seconds(40));
  CHECK(c.answers(call{old, 1, request_id{1}}).writes.size() == 1);
}

TEST_CASE("a forwarded write whose leader dies is of unknown outcome", "[actors][writes][R23]") {
  // The leader received the call and then failed. It may have written the entry to its disk. The
  // follower must neither report success nor repeat the call.
  cluster_fixture c;
  const auto old = c.leader();
  const auto follower = c.all_but(old).front();
  for (auto i : c.all_but(old))
    c.net().hold(old, i);
  const auto w = c.put(follower, "k", "v");
  c.settle();
  REQUIRE(c.net().calls_forwarded_by(follower) == 1);
  REQUIRE(times_in_log(c.log(old), set_key("k", "v")) == 1);
  c.crash(old);
  const auto r = c.written(w);
  CHECK(r.outcome == call_outcome::unknown);
  CHECK(r.text == "rpc error making call: EOF");

  c.net().release();
  c.leader();
  c.pass(seconds(8));
  c.start(old);
  CHECK(c.converged());
  CHECK(c.net().calls_forwarded_by(follower) == 1);
  CHECK(c.stale(follower, "k") == "(none)");
  CHECK(c.answers(w).writes.size() == 1);
}

TEST_CASE("a forwarded write outlives the connection it did not go through", "[actors][writes][C2]") {
  // The follower knows the leader but is not connected to it: the write was not forwarded, so it
  // may wait and be sent.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  caf::anon_send(c.peer(follower), peer_lost{c.id_of(leader)});
  const auto w = c.put(follower, "k", "v");
  c.settle();
  CHECK(c.net().calls_forwarded_by(follower) == 0);
  c.net().reconnect(leader, follower);
  CHECK(c.written(w).outcome == call_outcome::done);
  CHECK(c.stale(follower, "k") == "v");
}

// Each server limits its own clients. Together they can still overload the leader.
TEST_CASE("under overload the leader refuses forwarded writes, and neither renewals nor releases",
          "[actors][writes][overload]") {
  cluster_options o;
  o.peer.shedding = {milliseconds(50), 4};
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  const auto s = c.session(follower, seconds(30));
  c.put_done(follower, "lock", "");

  // The leader's entries reach the followers late, but soon enough that none campaigns.
  const auto commits_are_late = [&](const std::vector<state::command>& commands) {
    for (auto to : c.all_but(leader))
      c.net().hold(leader, to);
    std::vector<call> calls;
    for (const auto& each : commands)
      calls.push_back(c.write(follower, each));
    c.pass(milliseconds(100));
    c.net().release();
    std::vector<write_result> results;
    for (const auto& each : calls)
      results.push_back(c.written(each));
    return results;
  };
  std::vector<state::command> puts;
  for (int i = 0; i < 12; ++i)
    puts.push_back(set_key("k" + std::to_string(i), "v"));
  std::size_t refused = 0;
  for (int round = 0; round < 20 && refused == 0; ++round)
    for (const auto& r : commits_are_late(puts))
      if (r.outcome != call_outcome::done) {
        CHECK(r.outcome == call_outcome::refused); // it did not happen
        CHECK(r.text == "rate limit exceeded, try again later or against a different server");
        ++refused;
      }
  CHECK(refused > 0);
  CHECK(refused < puts.size());

  // After this many writes the next put would be rejected.
  auto mixed = puts;
  mixed.push_back(state::session_destroy{{s}, "destroyed"});
  state::kv_op unlock;
  unlock.verb = state::kv_verb::unlock;
  unlock.key = "lock";
  unlock.session = s;
  mixed.push_back(state::kv_write{unlock});
  const auto renewal = c.renew(follower, s);
  const auto results = commits_are_late(mixed);
  CHECK(results[11].outcome == call_outcome::refused);
  CHECK(results[12].outcome == call_outcome::done);
  CHECK(results[13].outcome == call_outcome::done);
  CHECK(c.until([&] { return !c.answers(renewal).renewals.empty(); }));
  CHECK(c.answers(renewal).renewals.front().ok);
  CHECK(c.metrics_text(leader).find("raft_shed_writes 0") == std::string::npos);
}
