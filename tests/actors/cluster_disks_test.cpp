// Checkpoints, snapshots, restarts, and full disks.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;
using wire::call_outcome;

namespace {

/// Makes checkpoints and snapshots frequent, and splits them into many pieces.
cluster_options small_steps() {
  cluster_options o;
  o.machine.checkpoints.entries = 40;
  o.peer.trailing_entries = 10;
  o.peer.limits.snapshot_chunk_bytes = 2048;
  return o;
}

std::string key(int i) {
  return "k" + std::to_string(i);
}

/// Writes and waits for each. Records what was acknowledged.
void fill(cluster_fixture& c, std::size_t node, int from, int count, std::map<std::string, std::string>& acknowledged) {
  for (int i = from; i < from + count; ++i) {
    const auto value = std::string(100, 'v') + std::to_string(i);
    c.put_done(node, key(i), value);
    acknowledged[key(i)] = value;
  }
}

void check_all_there(cluster_fixture& c, std::size_t node, const std::map<std::string, std::string>& acknowledged) {
  const auto r = c.found(c.read(node, state::kv_list{""}, consistency::stale));
  std::map<std::string, std::string> there;
  for (const auto& e : std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries)
    there[std::string(e->key)] = *e->value;
  for (const auto& [k, v] : acknowledged) {
    CAPTURE(node, k);
    CHECK(there[k] == v);
  }
}

/// Keys and sessions with all their indexes. (The digest also covers the index of the checks'
/// table, which every new leader advances when it registers the members.)
std::string contents(cluster_fixture& c, std::size_t node) {
  std::string text;
  const auto keys = c.found(c.read(node, state::kv_list{""}, consistency::stale));
  for (const auto& e : std::get<state::kv_entries>(std::get<state::query_result>(keys.answer).data).entries)
    text += std::string(e->key) + "=" + std::string(*e->value) + " " + to_string(e->create_index) + " " +
            to_string(e->modify_index) + " " + std::to_string(e->lock_index) + std::string(e->session) + "\n";
  const auto held = c.found(c.read(node, state::session_list{}, consistency::stale));
  for (const auto& s : std::get<state::sessions>(std::get<state::query_result>(held.answer).data).list)
    text += s->id + " " + s->node + " " + to_string(s->create_index) + "\n";
  return text + to_string(std::get<state::query_result>(keys.answer).index) + " " +
         to_string(std::get<state::query_result>(held.answer).index);
}

/// The changes after that index, as this node has them.
state::change_rows changes_behind(cluster_fixture& c, std::size_t node, log_index index) {
  const auto r = c.found(c.read(node, state::kv_changes{{"k"}, {index}}, consistency::stale, 1, milliseconds(1)));
  return std::get<state::change_rows>(std::get<state::query_result>(r.answer).data);
}
std::vector<std::string> keys_in(const state::change_rows& rows) {
  std::vector<std::string> keys;
  for (const auto& each : rows.list)
    keys.emplace_back(each.row->key);
  return keys;
}
std::vector<std::string> keys_between(int from, int to) {
  std::vector<std::string> keys;
  for (int i = from; i < to; ++i)
    keys.push_back(key(i));
  return keys;
}

} // namespace

TEST_CASE("a restart of all nodes forgets no change", "[actors][disks]") {
  // Clients follow changes. With an empty window at each server, all would start over at once.
  cluster_fixture c(small_steps());
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto before = c.put_done(leader, "before", "x");
  fill(c, leader, 0, 115, acknowledged);
  REQUIRE(c.converged());
  for (int round = 0; round < 2; ++round) { // the second time everything comes from the disk
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE_FALSE(c.checkpoints(i).commits().empty());
      c.crash(i, true);
    }
    for (std::size_t i = 0; i < 3; ++i)
      c.start(i);
    CHECK(c.converged());
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(round, i);
      const auto rows = changes_behind(c, i, before);
      CHECK_FALSE(rows.gone);
      CHECK(keys_in(rows) == keys_between(0, 115));
    }
    c.pass(seconds(31)); // a checkpoint, based on the copy that was loaded
  }
}

TEST_CASE("changes survive a checkpoint on a full disk", "[actors][disks][L1]") {
  cluster_options o = small_steps();
  o.nodes = 1;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  c.leader();
  const auto before = c.put_done(0, "before", "x");
  fill(c, 0, 0, 60, acknowledged);
  c.pass(seconds(1));
  REQUIRE(c.checkpoints(0).commits().size() == 1);
  c.checkpoints(0).set_full(true);
  fill(c, 0, 60, 60, acknowledged);
  c.pass(seconds(1));
  REQUIRE(c.checkpoints(0).refused_commits() >= 1);
  SECTION("there is room again") {
    c.checkpoints(0).set_full(false);
    REQUIRE(c.until([&] { return c.checkpoints(0).commits().size() == 2; }, seconds(60)));
    fill(c, 0, 120, 60, acknowledged);
    c.pass(seconds(1));
    REQUIRE(c.checkpoints(0).commits().size() == 3);
  }
  SECTION("the power goes before there is room") {}
  c.crash(0);
  c.checkpoints(0).set_full(false);
  c.start(0);
  CHECK(c.converged());
  const auto rows = changes_behind(c, 0, before);
  CHECK_FALSE(rows.gone);
  CHECK(keys_in(rows) == keys_between(0, static_cast<int>(acknowledged.size())));
}

TEST_CASE("a server that received a snapshot has no earlier changes, even after a restart", "[actors][disks]") {
  // Its own window is still on its disk; the changes in between are not.
  cluster_fixture c(small_steps());
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  const auto before = c.put_done(leader, "before", "x");
  fill(c, leader, 0, 60, acknowledged);
  REQUIRE(c.converged());
  c.pass(seconds(1));
  REQUIRE_FALSE(c.checkpoints(node).commits().empty());
  c.net().partition({{node}, c.all_but(node)});
  fill(c, leader, 60, 150, acknowledged);
  c.pass(seconds(1));
  c.net().heal();
  REQUIRE(c.until([&] { return c.checkpoints(node).installed() == 1; }));
  CHECK(c.converged());
  CHECK(changes_behind(c, node, before).gone);
  c.crash(node, true);
  c.start(node);
  CHECK(c.converged());
  CHECK(changes_behind(c, node, before).gone);
  CHECK_FALSE(changes_behind(c, leader, before).gone);

  // From here on it has them again.
  const auto after = c.put_done(leader, "after", "x");
  fill(c, leader, 210, 60, acknowledged);
  c.pass(seconds(1));
  c.crash(node, true);
  c.start(node);
  CHECK(c.converged());
  const auto rows = changes_behind(c, node, after);
  CHECK_FALSE(rows.gone);
  CHECK(keys_in(rows) == keys_between(210, 270));
}

TEST_CASE("a restart of all nodes keeps acknowledged writes", "[actors][disks][J19]") {
  // Power fails everywhere in the middle of writing, with a checkpoint and a log after it.
  const auto shuffle = GENERATE(0u, 1u, 2u);
  auto o = small_steps();
  o.shuffle = shuffle;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto id = c.session(leader, seconds(3600));
  fill(c, leader, 0, 100, acknowledged);
  c.pass(seconds(1));
  fill(c, c.all_but(leader).front(), 100, 15, acknowledged);
  c.written(c.write(leader, remove_tree("k1")));
  std::erase_if(acknowledged, [](const auto& kv) { return kv.first.starts_with("k1"); });
  REQUIRE(c.converged());
  const auto before = contents(c, 0);
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE_FALSE(c.checkpoints(i).commits().empty());
  for (int i = 0; i < 5; ++i)
    c.put(leader, "in flight", std::to_string(i));
  for (std::size_t i = 0; i < 3; ++i)
    c.crash(i, true);

  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  CHECK(c.converged());
  for (std::size_t i = 0; i < 3; ++i)
    check_all_there(c, i, acknowledged);
  CHECK(c.stale(0, "in flight") == "(none)"); // none of its messages was handled
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(contents(c, i) == before);
  const auto s = c.found(c.read(0, state::session_info{id}, consistency::stale));
  CHECK(std::get<state::sessions>(std::get<state::query_result>(s.answer).data).list.size() == 1);
  c.put_done(1, "after", "x");
}

TEST_CASE("nodes that crash one after the other, repeatedly, lose nothing", "[actors][disks]") {
  // In each round another node loses power while writes continue. At the end all nodes have every
  // acknowledged write.
  const auto seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  auto o = small_steps();
  o.seed = seed;
  o.shuffle = seed;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  c.leader();
  int next = 0;
  for (int round = 0; round < 6; ++round) {
    const auto victim = static_cast<std::size_t>(round + static_cast<int>(seed)) % 3;
    std::vector<std::pair<std::string, call>> calls;
    const auto through = (victim + 1) % 3;
    for (int i = 0; i < 25; ++i, ++next) {
      calls.emplace_back(key(next), c.put(through, key(next), "v"));
      c.pass(milliseconds(2));
      if (i == 10)
        c.crash(victim, round % 2 == 0);
    }
    for (const auto& [k, w] : calls)
      if (c.written(w).outcome == call_outcome::done)
        acknowledged[k] = "v";
    c.start(victim);
    c.leader();
  }
  CHECK(acknowledged.size() > 75);
  CHECK(c.converged());
  for (std::size_t i = 0; i < 3; ++i)
    check_all_there(c, i, acknowledged);
}

TEST_CASE("a server that could not store the cluster's identity tries again", "[actors][disks]") {
  // The disk was full when it joined. Without that record it starts as if it never had a log.
  cluster_options o;
  o.start = false;
  cluster_fixture c(o);
  c.fail_identity(1, 3);
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  c.leader();
  CHECK(c.cluster_id(0) != 0);
  CHECK(c.cluster_id(1) == 0);
  CHECK(c.until([&] { return c.cluster_id(1) == c.cluster_id(0); }, seconds(10)));
}

TEST_CASE("a wiped follower is rebuilt by a snapshot while writes go on", "[actors][disks][J21]") {
  // Its disk was replaced: it comes back as another server at the same address. The log that it
  // would need is gone, so it gets the checkpoint in pieces, and replaces its former self.
  cluster_fixture c(small_steps());
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  fill(c, leader, 0, 200, acknowledged);
  c.pass(seconds(1));
  REQUIRE(c.log(leader).kept().entries.front().index.value > 1);
  const auto former = c.id_of(node);
  c.crash(node);
  c.wipe(node);
  REQUIRE(c.id_of(node) != former);
  c.start(node);
  fill(c, leader, 200, 100, acknowledged);
  REQUIRE(c.until([&] {
    const auto& config = c.view(leader).config;
    return config.is_voter(c.id_of(node)) && !config.contains(former) && !config.joint();
  }));
  fill(c, node, 300, 20, acknowledged);
  CHECK(c.checkpoints(node).installed() >= 1);
  CHECK(c.checkpoints(node).chunks_written() > 4);
  CHECK(c.cluster_id(node) == c.cluster_id(leader));
  CHECK(c.converged());
  check_all_there(c, node, acknowledged);

  // What it received is on its disk.
  c.crash(node, true);
  c.start(node);
  CHECK(c.converged());
  check_all_there(c, node, acknowledged);
}

TEST_CASE("a snapshot that replaces the tables wakes parked queries", "[actors][disks][watches][C6]") {
  // A follower was down so long that it needs a snapshot. The changes that it missed have no
  // effects that wake a query; one that waits there must still be woken.
  cluster_fixture c(small_steps());
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  const auto index = c.put_done(leader, "watched", "1").value;
  c.pass(milliseconds(100));
  const auto one = c.read(node, state::kv_get{"watched"}, consistency::stale, index, seconds(500));
  const auto list = c.read(node, state::kv_list{"k"}, consistency::stale, index, seconds(500));
  const auto quiet = c.read(node, state::kv_get{"untouched"}, consistency::stale, 1'000'000, seconds(500));
  c.settle();
  c.net().partition({{node}, c.all_but(node)});
  c.put_done(leader, "watched", "2");
  fill(c, leader, 0, 150, acknowledged);
  c.pass(seconds(1));
  REQUIRE_FALSE(c.answered(one));
  c.net().heal();
  CHECK(value_of(c.found(one)) == "2");
  CHECK(index_of(c.found(one)) > index);
  CHECK(index_of(c.found(list)) > index);
  CHECK(c.checkpoints(node).installed() == 1);
  CHECK(c.checkpoints(node).chunks_written() > 4);
  CHECK(c.converged());
  check_all_there(c, node, acknowledged);
  // It was evaluated again, found no change, and still waits.
  CHECK_FALSE(c.answered(quiet));
}

TEST_CASE("a follower that crashes in the middle of a snapshot gets it again", "[actors][disks][J23]") {
  auto o = small_steps();
  o.peer.limits.snapshot_chunk_bytes = 512;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  c.crash(node);
  fill(c, leader, 0, 150, acknowledged);
  c.pass(seconds(1));
  const auto chunks_at_fall = GENERATE(1u, 3u, 10u);
  c.start(node);
  REQUIRE(c.until([&] { return c.checkpoints(node).chunks_written() >= chunks_at_fall; }));
  CHECK(c.checkpoints(node).installed() == 0);
  c.crash(node, true);
  c.pass(seconds(2));
  c.start(node);
  CHECK(c.converged());
  CHECK(c.checkpoints(node).installed() == 1);
  check_all_there(c, node, acknowledged);
}

TEST_CASE("a checkpoint on a full disk loses nothing, and the next one is complete", "[actors][disks][L1]") {
  // The changed rows had been handed over when the disk was found full. If the next checkpoint only
  // had later changes, a restart would come back without them.
  cluster_options o = small_steps();
  o.nodes = 1;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  c.leader();
  fill(c, 0, 0, 60, acknowledged);
  c.pass(seconds(1));
  REQUIRE(c.checkpoints(0).commits().size() == 1);
  fill(c, 0, 60, 1, acknowledged); // the only member keeps no entries before a checkpoint: this one is the first
  REQUIRE(c.checkpoints(0).commits().size() == 1);
  const auto kept = c.log(0).kept().entries.front().index;

  c.checkpoints(0).set_full(true);
  fill(c, 0, 61, 59, acknowledged);
  c.pass(seconds(1));
  fill(c, 0, 120, 10, acknowledged);
  CHECK(c.checkpoints(0).refused_commits() >= 1);
  CHECK(c.log(0).kept().entries.front().index == kept);
  check_all_there(c, 0, acknowledged);

  SECTION("there is room again") {
    c.checkpoints(0).set_full(false);
    REQUIRE(c.until([&] { return c.checkpoints(0).commits().size() == 2; }, seconds(60)));
    CHECK(c.checkpoints(0).commits().back());
    c.pass(seconds(1));
    const auto& entries = c.log(0).kept().entries;
    CHECK((entries.empty() || entries.front().index > kept));
    fill(c, 0, 130, 60, acknowledged);
    c.pass(seconds(1));
    REQUIRE(c.checkpoints(0).commits().size() == 3);
    CHECK_FALSE(c.checkpoints(0).commits().back());
  }
  SECTION("the power goes before there is room") {}
  CHECK(c.converged());
  const auto before = contents(c, 0);
  c.crash(0);
  c.checkpoints(0).set_full(false);
  c.start(0);
  CHECK(c.converged());
  CHECK(contents(c, 0) == before);
  check_all_there(c, 0, acknowledged);
}

TEST_CASE("a full checkpoint is not retried all the time while the disk is full", "[actors][disks][L1]") {
  // Each attempt copies all rows on the HTTP thread. A disk may stay full for hours.
  cluster_options o = small_steps();
  o.nodes = 1;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  c.leader();
  c.checkpoints(0).set_full(true);
  fill(c, 0, 0, 100, acknowledged);
  c.pass(seconds(60));
  CHECK(c.checkpoints(0).refused_commits() >= 2); // it keeps trying
  CHECK(c.checkpoints(0).refused_commits() <= 8);
}

TEST_CASE("nothing is acknowledged while the disks of the logs are full", "[actors][disks][R21]") {
  // All disks are full: no quorum can store a write. When there is space again the cluster resumes
  // without a restart.
  const auto nodes = GENERATE(1u, 3u);
  const auto outage = GENERATE(milliseconds(300), milliseconds(30000));
  CAPTURE(nodes, outage.count());
  cluster_options o;
  o.nodes = nodes;
  cluster_fixture c(o);
  std::map<std::string, std::string> acknowledged;
  auto leader = c.leader();
  fill(c, leader, 0, 20, acknowledged);
  for (std::size_t i = 0; i < nodes; ++i)
    c.log(i).set_full(true);
  std::vector<call> calls;
  for (int i = 0; i < 10; ++i)
    calls.push_back(c.put(leader, "full" + std::to_string(i), "v"));
  c.pass(outage);
  CHECK(c.log(leader).refused_appends() >= 1);
  CHECK(c.log(leader).refused_appends() <= static_cast<std::size_t>(outage.count()) / 100 + 2);
  for (const auto& w : calls)
    for (const auto& r : c.answers(w).writes)
      CHECK(r.outcome != call_outcome::done);

  for (std::size_t i = 0; i < nodes; ++i)
    c.log(i).set_full(false);
  c.pass(seconds(3)); // until then it may step down: its disk has not answered for so long
  leader = c.leader();
  fill(c, leader, 100, 20, acknowledged);
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (c.written(calls[i]).outcome == call_outcome::done)
      acknowledged["full" + std::to_string(i)] = "v";
  CHECK(c.converged());
  for (std::size_t i = 0; i < nodes; ++i)
    c.crash(i, true);
  for (std::size_t i = 0; i < nodes; ++i)
    c.start(i);
  CHECK(c.converged());
  for (std::size_t i = 0; i < nodes; ++i)
    check_all_there(c, i, acknowledged);
}

TEST_CASE("one full disk of three stops no writes", "[actors][disks][R5]") {
  // The leader's own disk is full. Two others are a quorum; after a while it transfers the
  // leadership, since it cannot write its own log. It keeps no entry that it could acknowledge.
  cluster_fixture c;
  std::map<std::string, std::string> acknowledged;
  const auto old = c.leader();
  fill(c, old, 0, 10, acknowledged);
  c.log(old).set_full(true);
  const auto w = c.put(old, "k", "v");
  c.pass(seconds(5));
  const auto others = c.all_but(old);
  REQUIRE((c.serving(others[0]) || c.serving(others[1])));
  const auto next = c.serving(others[0]) ? others[0] : others[1];
  fill(c, next, 10, 10, acknowledged);
  if (c.written(w).outcome == call_outcome::done)
    acknowledged["k"] = "v";
  c.log(old).set_full(false);
  CHECK(c.converged());
  check_all_there(c, old, acknowledged);
}

TEST_CASE("a follower without space for the snapshot that it needs is reported as unhealthy", "[actors][disks]") {
  // It may be a few entries behind, and its log may have space.
  cluster_fixture c(small_steps());
  std::map<std::string, std::string> acknowledged;
  const auto leader = c.leader();
  const auto node = c.all_but(leader).front();
  c.crash(node);
  fill(c, leader, 0, 150, acknowledged);
  c.pass(seconds(1));
  c.checkpoints(node).set_full(true);
  c.start(node);
  c.pass(seconds(3));
  const auto healthy = [&] {
    const auto answer = c.written(c.operate(leader, forward::describe_health{1'000'000'000, 250, "v"}));
    return http::is_healthy_report(std::get<std::string>(answer.reply));
  };
  CHECK_FALSE(healthy());
  CHECK(c.metrics_text(node).find("consul_raft_disk_full 1") != std::string::npos);
  c.checkpoints(node).set_full(false);
  c.pass(seconds(3));
  CHECK(healthy());
  CHECK(c.metrics_text(node).find("consul_raft_disk_full 0") != std::string::npos);
  CHECK(c.converged());
  check_all_there(c, node, acknowledged);
}

TEST_CASE("a follower without space responds within the hold time, and is reported as unhealthy", "[actors][disks]") {
  // It gets no new entry: a default read waits for one, as does a forwarded write's response.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto full = c.all_but(leader).front();
  c.put_done(leader, "k", "old");
  c.log(full).set_full(true);
  c.put_done(leader, "k", "new");
  c.pass(seconds(3));
  const auto requested = c.now();
  const auto write = c.put(full, "through", "it");
  const auto read = c.get(full, "k");
  REQUIRE(c.until([&] { return c.answered(write) && c.answered(read); }, seconds(60)));
  // The hold time is 7 s; a read may wait for the next tick of the tables.
  CHECK(c.now() - requested <= milliseconds(7500));
  CHECK(c.written(write).outcome == call_outcome::done);
  const auto found = c.found(read);
  CHECK((failed(found) || value_of(found) == "new")); // never the old one

  const auto healthy = [&] {
    const auto answer = c.written(c.operate(leader, forward::describe_health{1'000'000'000, 250, "v"}));
    return http::is_healthy_report(std::get<std::string>(answer.reply));
  };
  CHECK_FALSE(healthy());
  CHECK(c.metrics_text(full).find("consul_raft_disk_full 1") != std::string::npos);
  c.log(full).set_full(false);
  c.pass(seconds(3));
  CHECK(healthy());
  CHECK(c.metrics_text(full).find("consul_raft_disk_full 0") != std::string::npos);
  CHECK(c.converged());
}
