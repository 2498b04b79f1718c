// How soon a cluster continues after a repair or a loss: who campaigns, and what is sent.

#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

/// Delivers all that is in flight and what follows from it, except messages to `deaf`.
void deliver_all_but_to(raft_cluster& c, std::uint64_t deaf) {
  while (!c.in_flight().empty())
    if (c.in_flight().front().to.value == deaf)
      c.drop(0);
    else
      c.deliver(0);
}

template <class Body>
std::size_t in_flight_to(raft_cluster& c, std::uint64_t to, bool (*counts)(const Body&)) {
  return static_cast<std::size_t>(std::count_if(c.in_flight().begin(), c.in_flight().end(), [&](const message& m) {
    const auto* body = std::get_if<Body>(&m.body);
    return m.to.value == to && body != nullptr && counts(*body);
  }));
}

/// Heals a follower until it has caught up, and counts the leader's messages to it.
template <class Body>
std::size_t needed_to_catch_up(raft_cluster& c, std::uint64_t leader, std::uint64_t follower,
                               bool (*counts)(const Body&)) {
  std::size_t sent = 0;
  for (int ticks = 0; c.core(follower).last_index() < c.core(leader).last_index(); ++ticks) {
    REQUIRE(ticks < 1000);
    c.tick_all();
    while (!c.in_flight().empty()) {
      const auto& m = c.in_flight().front();
      const auto* body = std::get_if<Body>(&m.body);
      sent += m.to.value == follower && body != nullptr && counts(*body) ? 1 : 0;
      c.deliver(0);
    }
  }
  return sent;
}

bool has_entries(const append_entries& a) {
  return !a.entries.empty();
}

bool has_bytes(const snapshot_chunk& s) {
  return !s.bytes->empty();
}

} // namespace

// The followers hear from it until it steps down, and would wait for an election time then.
TEST_CASE("a leader that receives nothing from its followers names its successor when its lease is over") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    raft_cluster c(seed);
    c.start(3);
    const auto l = c.elect();
    c.run(4);
    const auto lim = small_limits();
    int ticks = 0;
    auto lease = c.core(l).lease_until();
    for (; c.core(l).is_leader(); ++ticks) {
      REQUIRE(ticks <= lim.election_ticks + 1);
      lease = c.core(l).lease_until();
      c.tick_all();
      if (c.core(l).is_leader()) { // until then no server gets a timeout_now
        CHECK(in_flight_to<timeout_now>(c, l == 1 ? 2 : 1, [](const timeout_now&) { return true; }) == 0);
        deliver_all_but_to(c, l);
      }
    }
    CHECK(lease <= c.now());
    deliver_all_but_to(c, l);
    CHECK(c.leader() != 0);
    CHECK(c.leader() != l);
    CHECK(c.converge() == "");
  }
}

TEST_CASE("a server that rejects a vote because the other's log is shorter campaigns without the random part of its "
          "timeout") {
  const auto lim = small_limits();
  int longest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    raft_cluster c(seed);
    c.start(3);
    const auto l = c.elect();
    c.run(4);
    const std::uint64_t longer = l == 1 ? 2 : 1, shorter = 6 - l - longer;
    c.crash(l);
    c.in_flight().clear();
    c.in_flight().push_back({node_id{shorter}, node_id{longer}, c.core(longer).term().next(),
                             vote_request{true, false, log_index{1}, term_id{1}}});
    c.deliver(0);
    c.in_flight().clear();
    int ticks = 0;
    for (; c.core(longer).soft().role == role::follower; ++ticks) {
      REQUIRE(ticks < 3 * lim.election_ticks);
      c.tick_all();
    }
    longest = std::max(longest, ticks);
    CHECK(ticks >= lim.election_ticks - lim.heartbeat_ticks);
  }
  CHECK(longest <= lim.election_ticks + 3);
}

TEST_CASE("a leader sends at once to a reconnected peer") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(4);
  const auto away = l == 1 ? 2u : 1u;
  c.core(l).peer_unreachable(node_id{away});
  c.settle(l);
  c.propose(l, "v");
  const auto any = [](const append_entries&) { return true; };
  CHECK(in_flight_to<append_entries>(c, away, any) == 0);
  c.core(l).peer_reachable(node_id{away});
  c.settle(l);
  CHECK(in_flight_to<append_entries>(c, away, any) == 1);
  c.deliver_all();
  CHECK(c.core(away).last_index() == c.core(l).last_index());
}

TEST_CASE("a follower that lags gets few large appends, one that keeps up the usual ones") {
  auto lim = small_limits();
  lim.append_entries_max = lim.inflight_appends_max = 1;
  lim.catch_up_append_entries_max = 4096;
  lim.catch_up_append_bytes_max = 1 << 20;
  raft_cluster c;
  c.start(3, lim);
  const auto l = c.elect();
  c.run(4);
  const auto behind = l == 1 ? 2u : 1u;
  c.crash(behind);
  for (int i = 0; i < 50; ++i) {
    c.propose(l, "v");
    c.deliver_all();
  }
  c.restart(behind);
  // One to find out that the logs match, one for all the rest.
  CHECK(needed_to_catch_up<append_entries>(c, l, behind, has_entries) <= 3);
  c.propose(l, "v");
  CHECK(in_flight_to<append_entries>(c, behind, has_entries) == 1);
  CHECK(c.converge() == "");
}

TEST_CASE("a snapshot is sent in parts that grow with the follower's progress") {
  auto lim = small_limits();
  lim.snapshot_chunk_bytes = 16;
  lim.snapshot_chunk_bytes_max = 1 << 20;
  lim.snapshot_chunks_inflight = 1;
  raft_cluster c;
  c.start(3, lim);
  const auto l = c.elect();
  c.run(4);
  const auto behind = l == 1 ? 2u : 1u;
  c.crash(behind);
  for (int i = 0; i < 40; ++i) {
    c.propose(l, std::string(100, 'v'));
    c.deliver_all();
  }
  c.checkpoint(l, 0);
  c.restart(behind);
  const auto parts = needed_to_catch_up<snapshot_chunk>(c, l, behind, has_bytes);
  CHECK(parts >= 2);
  CHECK(parts <= 12); // parts of 16 bytes would be hundreds
  CHECK(c.converge() == "");
}

// Its disk is full. Each attempt costs a read and a write, twenty times a second forever.
TEST_CASE("a snapshot that the follower cannot store is sent more and more seldom, and soon when it can") {
  raft_cluster c;
  c.start(3);
  const auto l = c.elect();
  c.run(4);
  const std::uint64_t behind = l == 1 ? 2 : 1;
  c.crash(behind);
  for (int i = 0; i < 20; ++i) {
    c.propose(l, std::string(100, 'v'));
    c.deliver_all();
  }
  c.checkpoint(l, 0);
  c.restart(behind);
  int begun = 0, first_ticks = 0;
  const auto lim = small_limits();
  const int ticks = 100 * lim.election_ticks;
  for (int tick = 0; tick < ticks; ++tick) {
    c.tick_all();
    while (!c.in_flight().empty()) {
      const auto m = c.in_flight().front();
      const auto* chunk = std::get_if<snapshot_chunk>(&m.body);
      if (m.to.value != behind || chunk == nullptr) {
        c.deliver(0);
        continue;
      }
      c.drop(0);
      if (chunk->offset != 0 || chunk->bytes->empty())
        continue;
      first_ticks = ++begun == 2 ? tick : first_ticks;
      c.in_flight().push_back({m.to, m.from, m.term, snapshot_reply{chunk->meta.index, 0, false, true}});
    }
  }
  CHECK(first_ticks <= 10 * lim.heartbeat_ticks); // a transient fault costs little
  CHECK(begun >= 20);
  CHECK(begun <= 45); // at that point, three election timeouts are between two of them
  int needed = 0;
  for (; c.core(behind).last_index() < c.core(l).last_index(); ++needed) {
    REQUIRE(needed < 5 * lim.election_ticks);
    c.run(1);
  }
  CHECK(c.converge() == "");
}

// Log and checkpoint are separate files: one may exist without the other after a power failure.
TEST_CASE("no snapshot is stored, and nothing is applied, before a term is on the disk") {
  raft_cluster c;
  c.add_node(2);
  c.stall_disk(2, true);
  const auto from_leader = [&](message_body body) {
    c.in_flight().push_back({node_id{1}, node_id{2}, term_id{5}, std::move(body)});
    c.deliver(0);
  };
  SECTION("snapshot") {
    const snapshot_chunk first{{log_index{10}, term_id{5}, {}, make_config({1, 2})}, 0, make_payload("x"), false};
    from_leader(first);
    CHECK(c.node(2).incoming_bytes.empty());
    CHECK(c.in_flight().empty());
    c.stall_disk(2, false);
    REQUIRE(c.in_flight().size() == 1);
    const auto* reply = std::get_if<snapshot_reply>(&c.in_flight().front().body);
    REQUIRE(reply != nullptr);
    CHECK((reply->next_offset == 0 && !reply->rejected && !reply->installed));
    c.in_flight().clear();
    from_leader(first);
    CHECK(c.node(2).incoming_bytes == "x");
  }
  SECTION("entries that others have committed") {
    const entry founders{
        log_index{1}, term_id{5}, {}, entry_kind::configuration, make_payload(encode(make_config({1, 2})))};
    from_leader(append_entries{{}, {}, log_index{1}, 1, {founders}});
    CHECK(c.core(2).commit_index() == log_index{1});
    CHECK(c.node(2).applied.is_zero());
    c.stall_disk(2, false);
    CHECK(c.node(2).applied == log_index{1});
  }
}
