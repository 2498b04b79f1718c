// The catalog's rows about the servers themselves, which the leader maintains (docs/contract/08).

#include "tests/actors/cluster_fixture.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

// Elections, a comparison with the catalog, and the way through the log.
constexpr milliseconds soon_enough{3000};

std::string name_of(cluster_fixture& c, std::size_t node) {
  for (const auto& m : c.view(node).config.members)
    if (m.id == c.id_of(node))
      return m.name;
  return "(no member)";
}

/// Status of serfHealth, as `through` has applied it; "(none)": no such node or check.
std::string health_of(cluster_fixture& c, std::size_t through, const std::string& node) {
  const auto r = c.found(c.read(through, state::health_node{node}, consistency::stale));
  for (const auto& check : std::get<state::checks>(std::get<state::query_result>(r.answer).data).list)
    if (check->check_id == "serfHealth")
      return check->status;
  return "(none)";
}

state::node_ptr node_row(cluster_fixture& c, std::size_t through, const std::string& node) {
  const auto r = c.found(c.read(through, state::catalog_node{node}, consistency::stale));
  return std::get<state::node_services>(std::get<state::query_result>(r.answer).data).node;
}

bool becomes(cluster_fixture& c, std::size_t through, const std::string& node, const std::string& status,
             milliseconds limit) {
  const auto end = c.now() + limit;
  while (health_of(c, through, node) != status && c.now() < end)
    c.pass(milliseconds(50));
  return health_of(c, through, node) == status;
}

std::size_t commands_in(memory_log& log) {
  std::size_t n = 0;
  for (const auto& e : log.kept().entries)
    n += e.kind == raft::entry_kind::command ? 1 : 0;
  return n;
}

} // namespace

TEST_CASE("every server is in the catalog, alive, with what its agent reports", "[actors][members]") {
  cluster_fixture c;
  const auto leader = c.leader();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(becomes(c, leader, name_of(c, i), "passing", soon_enough));
    c.pass(soon_enough); // its agent compares a second after the election
    const auto row = node_row(c, leader, name_of(c, i));
    REQUIRE(row != nullptr);
    CHECK(row->meta->at("rack") == std::to_string(i));
  }
}

TEST_CASE("a client whose write a new cluster answered finds the leader in the catalog", "[actors][members]") {
  cluster_options o;
  o.machine.first_node_wait = seconds(2);
  cluster_fixture c(o);
  // Checked as soon as one leads: its proposals are applied before it knows that it serves.
  const auto leads = [&](std::size_t i) { return c.view(i).soft.role == raft::role::leader; };
  REQUIRE(c.until([&] { return leads(0) || leads(1) || leads(2); }));
  const std::size_t leader = leads(0) ? 0 : leads(1) ? 1 : 2;
  REQUIRE(node_row(c, leader, name_of(c, leader)) == nullptr);
  const bool forwarded = GENERATE(false, true);
  const auto began = c.now();
  const auto write = c.put(forwarded ? c.all_but(leader).front() : leader, "k", "v");
  REQUIRE(c.until([&] { return c.answered(write); }));
  CHECK(c.written(write).outcome == wire::call_outcome::done);
  CHECK(health_of(c, leader, name_of(c, leader)) == "passing");
  CHECK(c.now() - began < seconds(1));
}

TEST_CASE("a new cluster whose agent writes no node answers writes in the end", "[actors][members]") {
  cluster_options o;
  o.nodes = 1;
  o.machine.first_node_wait = seconds(2);
  cluster_fixture c(o);
  REQUIRE(c.until([&] { return c.serving(0); }));
  caf::anon_send_exit(c.agent(0), caf::exit_reason::kill);
  const auto write = c.put(0, "k", "v");
  c.pass(milliseconds(1900));
  CHECK_FALSE(c.answered(write));
  c.pass(milliseconds(400));
  REQUIRE(c.answered(write));
  const auto next = c.put(0, "k", "w");
  c.pass(milliseconds(100));
  CHECK(c.answered(next));
}

TEST_CASE("a server that falls silent turns critical, and passing when it is back", "[actors][members]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  const auto name = name_of(c, other);
  REQUIRE(becomes(c, leader, name, "passing", soon_enough));
  const bool crashes = GENERATE(true, false);
  if (crashes)
    c.crash(other, true);
  else
    c.net().partition({{leader, c.all_but(leader).back()}, {other}});
  c.pass(milliseconds(4500));
  CHECK(health_of(c, leader, name) == "passing"); // not after every short silence: it ends sessions
  CHECK(becomes(c, leader, name, "critical", milliseconds(1500)));
  CHECK(health_of(c, leader, name_of(c, leader)) == "passing");
  CHECK(health_of(c, leader, name_of(c, c.all_but(leader).back())) == "passing");
  if (crashes)
    c.start(other);
  else
    c.net().heal();
  CHECK(becomes(c, c.leader(), name, "passing", soon_enough));
}

TEST_CASE("a new leader marks the old one as dead after it was silent for long enough, and not before",
          "[actors][members]") {
  cluster_fixture c;
  const auto old = c.leader();
  const auto name = name_of(c, old);
  REQUIRE(becomes(c, old, name, "passing", soon_enough));
  c.crash(old, true);
  auto next = c.leader();
  c.pass(milliseconds(4000));
  CHECK(health_of(c, next, name) == "passing");
  CHECK(becomes(c, next, name, "critical", milliseconds(2000)));

  // A new leader does not report a dead server as passing for a while: it reports nothing about a
  // member that it has not heard from.
  const auto third = c.all_but(next).front() == old ? c.all_but(next).back() : c.all_but(next).front();
  caf::anon_send(c.peer(next), leadership_transfer{c.id_of(third)});
  REQUIRE(c.until([&] { return c.serving(third); }));
  for (int i = 0; i < 100; ++i) {
    c.pass(milliseconds(100));
    REQUIRE(health_of(c, third, name) == "critical");
  }
}

TEST_CASE("a session on a server that died ends with the server's health", "[actors][members][sessions]") {
  // Its holder used that server, or was it: no other client will release the lock.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  REQUIRE(becomes(c, leader, name_of(c, other), "passing", soon_enough));
  state::session_create s;
  s.session.id = "11111111-2222-4333-8444-555555555555";
  s.session.node = name_of(c, other);
  s.session.node_checks = std::vector<std::string>{"serfHealth"};
  REQUIRE(c.written(c.write(leader, s)).outcome == wire::call_outcome::done);
  const auto there = [&] {
    const auto r = c.found(c.read(leader, state::session_info{s.session.id}, consistency::stale));
    return !std::get<state::sessions>(std::get<state::query_result>(r.answer).data).list.empty();
  };
  c.pass(seconds(2));
  CHECK(there());
  c.crash(other, true);
  CHECK(becomes(c, leader, name_of(c, other), "critical", seconds(7)));
  CHECK_FALSE(there());
}

TEST_CASE("nothing is written while nothing happens to the members", "[actors][members]") {
  cluster_fixture c;
  const auto leader = c.leader();
  for (std::size_t i = 0; i < 3; ++i)
    REQUIRE(becomes(c, leader, name_of(c, i), "passing", soon_enough));
  c.pass(seconds(5));
  const auto before = commands_in(c.log(leader));
  c.pass(std::chrono::minutes(10)); // several comparisons of all members
  CHECK(commands_in(c.log(leader)) == before);

  // Nor does an election that finds the catalog up to date.
  const auto next = c.all_but(leader).front();
  caf::anon_send(c.peer(leader), leadership_transfer{c.id_of(next)});
  REQUIRE(c.until([&] { return c.serving(next); }));
  c.pass(std::chrono::minutes(3));
  CHECK(commands_in(c.log(next)) == before);
}

TEST_CASE("a server that left the configuration leaves the catalog, whichever server leads", "[actors][members]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto gone = c.all_but(leader).front(), stays = c.all_but(leader).back();
  const auto name = name_of(c, gone);
  REQUIRE(becomes(c, leader, name, "passing", soon_enough));
  const auto raft_name = [&](std::size_t i) {
    for (const auto& m : c.view(leader).config.members)
      if (m.id == c.id_of(i))
        return m;
    return raft::member{};
  };
  const auto target = raft::configuration_of_voters({raft_name(leader), raft_name(stays)});
  const bool leader_dies = GENERATE(false, true);
  c.crash(gone); // otherwise it would be admitted again
  caf::anon_send(c.peer(leader), change_members{target});
  REQUIRE(c.until([&] { return c.view(leader).config == target && c.view(stays).config == target; }));
  if (leader_dies) { // perhaps before it wrote that
    c.crash(leader, true);
    c.start(leader);
  }
  const auto now = c.leader({leader, stays});
  CHECK(becomes(c, now, name, "(none)", seconds(4)));
  CHECK(node_row(c, now, name) == nullptr);
  CHECK(node_row(c, now, name_of(c, stays)) != nullptr);
}

TEST_CASE("a server that lost its disk takes its name back", "[actors][members]") {
  // It comes back as another server with the same name, which the catalog must accept.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  const auto name = name_of(c, other);
  REQUIRE(becomes(c, leader, name, "passing", soon_enough));
  const auto id_before = node_row(c, leader, name)->id;
  c.crash(other);
  c.wipe(other);
  c.start(other);
  REQUIRE(c.until([&] { return c.view(leader).config.is_voter(c.id_of(other)) && !c.view(leader).config.joint(); }));
  c.pass(soon_enough);
  const auto row = node_row(c, leader, name);
  REQUIRE(row != nullptr);
  CHECK(row->id != id_before);
  CHECK(health_of(c, leader, name) == "passing");
}

TEST_CASE("a server that replaces a restarted one is not a voter beside it", "[actors][members]") {
  // Without credentials. An unverified peer claims the name and address of a server that is down.
  const bool speaks = GENERATE(true, false);
  CAPTURE(speaks);
  cluster_options o;
  o.nodes = 4;
  o.expect = 3;
  o.start = false;
  cluster_fixture c(o);
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  const auto leader = c.leader({0, 1, 2});
  const auto lost = c.all_but(leader).front();
  const auto id = c.id_of(lost), unverified_peer = c.id_of(3);
  c.crash(lost);
  c.move(3, c.member(lost).name, c.member(lost).address);
  c.start(3);
  c.pass(seconds(3));
  CHECK_FALSE(c.view(leader).config.contains(unverified_peer)); // as long as a restart may take
  // The leader's frames do not arrive, so it stays a learner.
  c.net().filter = [&](std::size_t, std::size_t to, const wire::frame& f) {
    return to != 3 || !std::holds_alternative<raft::message>(f);
  };
  REQUIRE(c.until([&] { return c.view(leader).config.contains(unverified_peer); }));
  REQUIRE_FALSE(c.view(leader).config.is_voter(unverified_peer));

  if (speaks) {
    wire::hello other;
    other.self = {unverified_peer, c.member(3).uuid, "stranger", "10.6.6.6:8300"};
    other.datacenter = "dc1";
    other.promises = true;
    c.net().inject(3, leader, other);
  } else {
    c.start(lost);
  }
  CHECK(c.until([&] { return !c.view(leader).config.contains(unverified_peer); }, seconds(2)));
  if (speaks)
    c.start(lost);
  c.net().filter = nullptr;
  c.pass(seconds(20));
  const auto& config = c.view(leader).config;
  CHECK(config.voters.size() == 3);
  CHECK(config.is_voter(id));
  CHECK_FALSE(config.contains(unverified_peer));
}

TEST_CASE("a joining server is added once it has authenticated, and not when credentials are removed",
          "[actors][members]") {
  // The connection decides, not how the server was started: a reload may have opened the port.
  cluster_options o;
  o.nodes = 5;
  o.expect = 3;
  o.start = false;
  cluster_fixture c(o);
  c.net().credentials = true;
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  const auto leader = c.leader({0, 1, 2});
  c.start(3);
  REQUIRE(c.until([&] { return c.view(leader).config.is_voter(c.id_of(3)) && !c.view(leader).config.joint(); }));
  c.net().credentials = false;
  c.start(4);
  c.pass(seconds(10));
  CHECK(c.view(leader).config.voters.size() == 4);
  CHECK_FALSE(c.view(leader).config.contains(c.id_of(4)));
}

TEST_CASE("a server with another name and address is known by them everywhere", "[actors][members]") {
  // A container returns with another host name: the old node and its sessions must not stay.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto other = c.all_but(leader).front();
  const auto before = name_of(c, other);
  REQUIRE(becomes(c, leader, before, "passing", soon_enough));
  c.crash(other);
  c.move(other, "renamed", "10.9.9.9:8300");
  c.start(other);
  const auto known = [&](std::size_t through) {
    const auto* m = c.view(through).config.find(c.id_of(other));
    return m != nullptr && m->name == "renamed" && m->address == "10.9.9.9:8300";
  };
  REQUIRE(c.until([&] { return known(0) && known(1) && known(2); }));
  CHECK(c.view(leader).config.voters.size() == 3);
  CHECK(becomes(c, leader, "renamed", "passing", soon_enough));
  CHECK(health_of(c, leader, before) == "(none)");
  const auto row = node_row(c, leader, "renamed");
  REQUIRE(row != nullptr);
  CHECK(row->address == "10.9.9.9");
}

TEST_CASE("all servers may restart at each other's addresses", "[actors][members]") {
  cluster_fixture c;
  c.leader();
  std::vector<raft::member> before = c.view(0).config.members;
  for (std::size_t i = 0; i < 3; ++i)
    c.crash(i);
  for (std::size_t i = 0; i < 3; ++i) {
    c.move(i, "node-" + std::to_string(i), "10.0.0." + std::to_string((i + 1) % 3 + 1) + ":8300");
    c.start(i);
  }
  c.leader();
  REQUIRE(c.until([&] {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto* m = c.view(0).config.find(c.id_of(i));
      if (m == nullptr || m->address != "10.0.0." + std::to_string((i + 1) % 3 + 1) + ":8300")
        return false;
    }
    return true;
  }));
  CHECK(c.view(0).config.members != before);
  c.put_done(0, "k", "v");
}
