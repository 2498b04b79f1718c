// What the leader writes about client agents that it has heard from, or not, and at its start.

#include "protocol/agent/client_agents.hpp"

#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/mutants.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::agent;
using namespace std::chrono_literals;

namespace {

const client_agents::identity a{"a", "id-a", "10.0.0.1"};

/// The rows of one node after the decisions so far.
struct rows {
  std::optional<state::node_record> node;
  std::optional<state::check_record> liveness;

  void apply(const state::command& c) {
    if (std::holds_alternative<state::catalog_deregister>(c)) {
      node.reset();
      liveness.reset();
      return;
    }
    const auto& r = std::get<state::catalog_register>(c);
    // docs/contract/07: a name belongs to its node while that node's liveness check does not fail.
    if (node && !node->id.empty() && node->id != r.node.id && status() == "passing")
      return;
    if (!node || !r.skip_node_update)
      node = r.node;
    if (!r.checks.empty())
      liveness = r.checks.at(0);
  }
  std::string status() const { return liveness ? liveness->status : ""; }
};

struct leader {
  client_agents agents;
  rows& r;

  explicit leader(rows& where, local_time now = 0s) : r(where) { agents.begin(now); }

  /// Reads the rows if they are needed, and applies the decision. @returns the decision
  std::optional<state::command> go_on(local_time now) {
    std::optional<state::command> wrote;
    for (const auto& name : agents.due(now, 10)) {
      auto c = agents.look(name, r.node ? &*r.node : nullptr, r.liveness ? &*r.liveness : nullptr, now, "dc1");
      if (c) {
        r.apply(*c);
        wrote = std::move(c);
      }
    }
    return wrote;
  }
  void found(local_time now = 0s) {
    if (r.node)
      agents.found({std::make_shared<const state::node_record>(*r.node)}, {"id-server"}, now);
  }
};

} // namespace

TEST_CASE("an agent that is heard is registered once", "[client_agents]") {
  rows r;
  leader l(r);
  CHECK(l.agents.received(a, 1s));
  const auto c = l.go_on(1s);
  REQUIRE(c);
  const auto& made = std::get<state::catalog_register>(*c);
  CHECK(made.node.node == "a");
  CHECK(made.node.id == "id-a");
  CHECK(made.node.address == "10.0.0.1");
  CHECK_FALSE(made.service);
  CHECK(r.status() == "passing");
  for (auto now = 2s; now < 60s; now += 1s) {
    l.agents.received(a, now);
    CHECK_FALSE(l.go_on(now));
  }
}

TEST_CASE("an agent that is silent for more than 5 s is critical, and passing when it reports again",
          "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  l.agents.received(a, 2s);
  l.go_on(3s); // it sees that this is written
  CHECK_FALSE(l.go_on(6999ms));
  CHECK(r.status() == "passing");
  CHECK(l.go_on(7001ms));
  CHECK(r.status() == "critical");
  CHECK_FALSE(l.go_on(9s));
  l.agents.received(a, 20s);
  CHECK(l.go_on(20s));
  CHECK(r.status() == "passing");
}

TEST_CASE("a new leader gives those that it finds in the catalog time, and only agents", "[client_agents]") {
  rows r;
  leader first(r);
  first.agents.received(a, 1s);
  first.go_on(1s);
  REQUIRE(r.status() == "passing");

  leader contact(r, 100s);
  contact.found(100s);
  CHECK_FALSE(contact.go_on(104s));
  contact.agents.received(a, 104s);
  CHECK_FALSE(contact.go_on(104s));
  CHECK_FALSE(contact.go_on(108s));
  CHECK(r.status() == "passing");

  leader silent(r, 200s);
  silent.found(200s);
  CHECK_FALSE(silent.go_on(204999ms));
  CHECK(silent.go_on(205001ms));
  CHECK(r.status() == "critical");

  // A server that was not a member when the leadership began, and is one again.
  leader back(r, 300s);
  back.found(300s);
  REQUIRE(back.agents.size() == 1);
  back.agents.are_servers({"id-server"});
  REQUIRE(back.agents.size() == 1);
  back.agents.are_servers({"id-server", "id-a"});
  CHECK(back.agents.size() == 0);
  CHECK_FALSE(back.go_on(310s));

  // Rows from other sources, of nodes without agents, and those of servers stay as they are.
  rows other;
  other.node = r.node;
  other.liveness = r.liveness;
  other.liveness->status = "passing";
  other.node->meta.reset();
  leader l(other, 0s);
  l.found();
  CHECK(l.agents.size() == 0);
  other.node->meta = state::string_map{{"consul-network-segment", ""}};
  other.node->id = "id-server";
  l.found();
  CHECK(l.agents.size() == 0);
  other.node->id = "id-x";
  other.liveness.reset();
  l.found();
  CHECK(l.agents.size() == 1);
  CHECK_FALSE(l.go_on(10s));
  CHECK(l.agents.size() == 0); // it has no such check
}

TEST_CASE("lost writes are repeated, at most every 4 s", "[client_agents]") {
  rows r;
  leader l(r);
  std::vector<std::chrono::seconds> written;
  for (auto now = 1s; now < 30s; now += 1s) {
    l.agents.received(a, now);
    for (const auto& name : l.agents.due(now, 10))
      if (l.agents.look(name, nullptr, nullptr, now, "dc1"))
        written.push_back(now);
  }
  CHECK(written == std::vector<std::chrono::seconds>{1s, 2s, 4s, 8s, 12s, 16s, 20s, 24s, 28s});
}

TEST_CASE("an entry of silence that takes effect late, after the contrary was rejected, is noticed",
          "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  REQUIRE(l.go_on(1s));
  l.go_on(2s);
  REQUIRE(r.status() == "passing");
  // The disk is full: the entry about its silence waits; the one about its return is refused.
  std::optional<state::command> silence;
  auto now = 3s;
  for (; !silence; now += 1s)
    for (const auto& name : l.agents.due(now, 10))
      silence = l.agents.look(name, &*r.node, &*r.liveness, now, "dc1");
  bool back = false;
  for (const auto until = now + 6s; now < until; now += 1s) {
    l.agents.received(a, now);
    for (const auto& name : l.agents.due(now, 10))
      back = l.agents.look(name, &*r.node, &*r.liveness, now, "dc1").has_value() || back;
  }
  CHECK(back);
  r.apply(*silence);
  r.liveness->modify_index = log_index{9};
  REQUIRE(r.status() == "critical");
  for (const auto until = now + 6s; now < until; now += 1s) {
    l.agents.received(a, now);
    l.go_on(now);
  }
  CHECK(r.status() == "passing");
}

TEST_CASE("where another client writes an agent's rows, the leader writes them less and less often",
          "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  REQUIRE(l.go_on(1s));
  std::size_t written = 0;
  for (auto now = 2s; now < 70s; now += 1s) {
    l.agents.received(a, now);
    r.liveness->status = "critical";
    r.liveness->modify_index = log_index{static_cast<std::uint64_t>(now.count())};
    written += l.go_on(now).has_value();
  }
  CHECK(written >= 4);
  CHECK(written <= 8);
}

TEST_CASE("an agent that reports again while the entry of its silence waits for a disk is not left critical",
          "[client_agents]") {
  rows shown;
  leader l(shown);
  l.agents.received(a, 1s);
  l.go_on(1s);
  l.go_on(2s);
  REQUIRE(shown.status() == "passing");
  std::vector<state::command> in_the_log; // and not in any table yet
  const auto look = [&](local_time now) {
    for (const auto& name : l.agents.due(now, 10))
      if (auto c = l.agents.look(name, &*shown.node, &*shown.liveness, now, "dc1"))
        in_the_log.push_back(std::move(*c));
  };
  look(7s);
  REQUIRE(in_the_log.size() == 1); // critical
  for (auto now = 8s; now < 12s; now += 1s) {
    l.agents.received(a, now);
    look(now);
  }
  CHECK(in_the_log.size() == 2);
  for (const auto& c : in_the_log)
    shown.apply(c);
  CHECK(shown.status() == "passing");
  l.agents.received(a, 13s);
  CHECK(l.agents.shown_alive(a));
}

TEST_CASE("an agent that leaves is deregistered, and forgotten when that is seen", "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  l.agents.leaves({"a", "id-other", "10.0.0.9"}, 2s); // another node's
  l.go_on(2s);
  REQUIRE(r.node);
  l.agents.leaves(a, 3s);
  CHECK(std::holds_alternative<state::catalog_deregister>(l.go_on(3s).value()));
  CHECK_FALSE(r.node);
  CHECK_FALSE(l.go_on(5s));
  CHECK(l.agents.size() == 0);
}

TEST_CASE("if two agents have one name, the live one owns it", "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  const client_agents::identity other{"A", "id-b", "10.0.0.2"};
  l.agents.received(other, 2s);
  l.agents.received(a, 3s);
  l.go_on(4s);
  CHECK(r.node->id == "id-a");
  l.agents.received(other, 9s); // the first one has been silent for long enough
  CHECK(l.go_on(9s));
  CHECK(r.status() == "critical"); // otherwise the name still belongs to the first one
  CHECK(r.node->id == "id-a");
  l.agents.received(other, 10s);
  CHECK(l.go_on(10s));
  CHECK(r.node->id == "id-b");
  CHECK(r.node->address == "10.0.0.2");
  CHECK(r.status() == "passing");
  CHECK_FALSE(l.go_on(12s));
}

TEST_CASE("a new leader gives an agent time before another one gets its name", "[client_agents]") {
  const client_agents::identity other{"a", "id-b", "10.0.0.2"};
  rows r;
  leader first(r);
  first.agents.received(a, 1s);
  first.go_on(1s);
  REQUIRE(r.node->id == "id-a");

  rows of_living = r;
  leader l(of_living, 100s);
  l.found(100s);
  CHECK_FALSE(l.agents.received(other, 101s));
  CHECK(l.agents.received(a, 102s));
  CHECK_FALSE(l.agents.received(other, 106s));
  l.go_on(106s);
  CHECK(of_living.node->id == "id-a");
  CHECK(of_living.status() == "passing");

  leader of_gone(r, 100s);
  of_gone.found(100s);
  for (auto now = 101s; now < 110s; now += 1s) {
    of_gone.agents.received(other, now);
    of_gone.go_on(now);
  }
  CHECK(r.node->id == "id-b");
  CHECK(r.status() == "passing");
}

TEST_CASE("the previous owner of a silent agent's name is critical, and that is written once", "[client_agents]") {
  const client_agents::identity other{"a", "id-b", "10.0.0.2"};
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  REQUIRE(l.agents.received(other, 7s)); // and never again, until the rows are read
  CHECK(l.go_on(13s));
  CHECK(r.node->id == "id-a");
  CHECK(r.status() == "critical");
  for (auto now = 14s; now < 300s; now += 1s)
    CHECK_FALSE(l.go_on(now));
}

TEST_CASE("rows of an agent that was silent for three days are deregistered, within a limit", "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  l.go_on(10s);
  REQUIRE(r.status() == "critical");
  for (local_time now = 11s; now < 80h && r.node; now += 30s)
    l.go_on(now);
  CHECK_FALSE(r.node);

  client_agents few({.agents_max = 2});
  few.begin(0s);
  CHECK(few.received({"x", "1", "10.0.0.1"}, 1s));
  CHECK(few.received({"y", "2", "10.0.0.2"}, 1s));
  CHECK_FALSE(few.received({"z", "3", "10.0.0.3"}, 1s));
  CHECK(few.received({"x", "1", "10.0.0.1"}, 2s));
}

// force-leave, or a deregistration of the node: the leader does not write it again.
TEST_CASE("an agent that is silent and whose node is removed from the catalog is dropped", "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 0s);
  l.go_on(0s);
  l.go_on(2s);
  REQUIRE(r.status() == "passing");
  l.go_on(6s);
  l.go_on(8s);
  REQUIRE(r.status() == "critical");
  r.apply(state::catalog_deregister{"a", {}, {}});
  for (auto t = 9s; t < 200s; t += 1s)
    CHECK_FALSE(l.go_on(t));
  CHECK(l.agents.size() == 0);
  // The agent was not dead: its node is registered again.
  l.agents.received(a, 200s);
  l.go_on(200s);
  CHECK(r.status() == "passing");
}

TEST_CASE("a second agent with a name is rejected with the one that has it, until that one is lost",
          "[client_agents]") {
  rows r;
  leader l(r);
  const client_agents::identity second{"A", "id-b", "10.0.0.2"};
  l.agents.received(a, 1s);
  CHECK_FALSE(l.agents.refusal_of(a, 2s));
  CHECK(l.agents.refusal_of(second, 2s) == "node name 'A' is taken by the client agent with ID id-a at 10.0.0.1");
  CHECK_FALSE(l.agents.received(second, 2s));
  CHECK_FALSE(l.agents.refusal_of(second, 10s)); // the first one is silent
  l.agents.received(a, 11s);
  l.agents.leaves(a, 12s);
  CHECK_FALSE(l.agents.refusal_of(second, 12s));
}

// An agent that is reported as known must be among the members.
TEST_CASE("an agent is shown alive once the catalog says so", "[client_agents]") {
  rows r;
  leader l(r);
  CHECK_FALSE(l.agents.shown_alive(a));
  l.agents.received(a, 1s);
  l.go_on(1s);
  CHECK_FALSE(l.agents.shown_alive(a)); // perhaps written
  l.agents.received(a, 2s);
  l.go_on(2s);
  CHECK(l.agents.shown_alive(a));
}

// Consul's agents object to that; here the leader does it for them, and nothing is lost.
TEST_CASE("an agent that got a request to leave but stays is leaving for a while, and then alive again",
          "[client_agents]") {
  rows r;
  leader l(r);
  l.agents.received(a, 1s);
  l.go_on(1s);
  l.agents.received(a, 2s);
  l.go_on(2s);
  r.apply(requested_to_leave(*r.node));
  const auto leaving = [&] {
    return client_agents_among({std::make_shared<const state::node_record>(*r.node)}, {}, {}).at(0).leaving;
  };
  r.node->meta->emplace("consul-network-segment", "");
  REQUIRE(leaving());
  auto now = 3s;
  for (; now < 200s && leaving(); now += 1s) {
    l.agents.received(a, now);
    l.go_on(now);
    CHECK(r.status() == "passing");
  }
  CHECK(now >= 7s);
  CHECK(now <= 70s);
  CHECK(r.node->meta->size() == 1);
}

// ---- ownership of nodes

namespace {

const std::string secret_hash = "hash", other_hash = "another";

client_agents::evidence from(const std::string& source, const std::string& proof = {}, bool authenticated = false) {
  return {source, proof, authenticated};
}

/// The row in the catalog when agent `a` has been there for a while.
rows settled(const client_agents::evidence& by) {
  rows r;
  leader l(r);
  for (auto now = 1s; now < 4s; now += 1s) {
    CHECK(l.agents.received(a, now, by));
    l.go_on(now);
  }
  REQUIRE(r.status() == "passing");
  r.node->meta->emplace("consul-network-segment", "");
  return r;
}

struct received {
  rows after;
  bool refused;
};
/// The reaction of a leader that finds that row to a message from `who`.
received after_hearing(rows r, const client_agents::identity& who, const client_agents::evidence& by,
                       bool leaves = false, bool finds_row = true) {
  leader l(r, 100s);
  if (finds_row)
    l.found(100s);
  bool refused = false;
  for (auto now = 101s; now < 104s; now += 1s) {
    if (leaves)
      l.agents.leaves(who, now, by);
    else
      refused = !l.agents.received(who, now, by) || refused;
    l.go_on(now);
    refused = refused || l.agents.refused(who) != nullptr;
  }
  return {r, refused};
}
std::string proof_of(const rows& r) {
  const auto it = r.node->meta->find(std::string(proof_of_agent));
  return it == r.node->meta->end() ? std::string() : it->second;
}

} // namespace

// Any client of the server port could make another node leave, or claim its address.
TEST_CASE("reports about a node need the secret of its agent, from any address", "[client_agents][B3]") {
  const auto with_secret = settled(from("10.0.0.1", secret_hash));
  CHECK(proof_of(with_secret) == secret_hash);
  const client_agents::identity moved{"a", "id-a", "6.6.6.6"};
  for (const bool finds_row : {true, false}) // as an agent that is known, and as one that was never heard from
    for (const auto& by :
         {from("10.0.0.1"), from("6.6.6.6"), from("10.0.0.1", other_hash), from("6.6.6.6", other_hash, true)}) {
      CAPTURE(finds_row, by.source, by.proof);
      const auto there = after_hearing(with_secret, moved, by, false, finds_row);
      CHECK(there.refused);
      REQUIRE(there.after.node);
      CHECK(there.after.node->address == "10.0.0.1");
      CHECK(proof_of(there.after) == secret_hash);
      CHECK(after_hearing(with_secret, a, by, true, finds_row).after.node);
    }
  const auto own = from("6.6.6.6", secret_hash);
  const auto there = after_hearing(with_secret, moved, own);
  CHECK_FALSE(there.refused);
  CHECK(there.after.node->address == "6.6.6.6");
  CHECK(proof_of(there.after) == secret_hash);
  CHECK_FALSE(after_hearing(with_secret, a, own, true).after.node);
  CHECK_FALSE(after_hearing(with_secret, a, own, true, false).after.node);
}

// A proposal is not in a row at once. An agent with the same ID must not replace the first.
TEST_CASE("the first agent keeps its node while its row is on its way", "[client_agents][B3]") {
  const auto own = from("10.0.0.1", secret_hash), other = from("6.6.6.6", other_hash, true),
             same_address = from("10.0.0.1", other_hash);
  for (const auto& by : {other, same_address})
    for (const bool leaves : {false, true})
      for (const auto delay : {0s, 1s, 2s, 3s}) {
        CAPTURE(by.source, leaves, delay.count());
        rows r;
        client_agents agents;
        agents.begin(0s);
        std::vector<std::pair<local_time, state::command>> under_way;
        const auto go_on = [&](local_time now) {
          std::erase_if(under_way, [&](const auto& each) {
            if (now < each.first)
              return false;
            r.apply(each.second);
            return true;
          });
          for (const auto& name : agents.due(now, 10))
            if (auto c =
                    agents.look(name, r.node ? &*r.node : nullptr, r.liveness ? &*r.liveness : nullptr, now, "dc1"))
              under_way.emplace_back(now + delay, std::move(*c));
        };
        auto now = 1s;
        for (; now < 20s; now += 1s) {
          CHECK(agents.received(a, now, own));
          go_on(now);
          if (leaves)
            agents.leaves(a, now, by);
          else
            agents.received(a, now, by);
          go_on(now);
        }
        REQUIRE(r.node);
        CHECK(proof_of(r) == secret_hash);
        CHECK(r.status() == "passing");
        agents.leaves(a, now, own);
        for (const auto end = now + 10s; now < end; now += 1s)
          go_on(now);
        CHECK_FALSE(r.node);
      }
}

TEST_CASE("a node whose agent dies is critical, whichever other agent claims its name", "[client_agents][B3]") {
  rows r = settled(from("10.0.0.1", secret_hash));
  leader l(r, 100s); // has not found the row
  for (auto now = 101s; now < 108s; now += 1s) {
    l.agents.received(a, now, from("6.6.6.6", other_hash, true));
    l.go_on(now);
  }
  CHECK(r.status() == "critical");
  CHECK(proof_of(r) == secret_hash);
}

TEST_CASE("a node without a secret belongs to its address, until the first secret arrives", "[client_agents][B3]") {
  const auto of_0_2_0 = settled(from("10.0.0.1"));
  REQUIRE(proof_of(of_0_2_0).empty());
  CHECK_FALSE(after_hearing(of_0_2_0, a, from("10.0.0.1")).refused);
  CHECK_FALSE(after_hearing(of_0_2_0, a, from("10.0.0.1"), true).after.node);
  const client_agents::identity moved{"a", "id-a", "6.6.6.6"};
  for (const bool finds_row : {true, false})
    for (const auto& by : {from("6.6.6.6"), from("6.6.6.6", other_hash), from("6.6.6.6", {}, true)}) {
      CAPTURE(finds_row, by.proof, by.authenticated);
      const auto there = after_hearing(of_0_2_0, moved, by, false, finds_row);
      CHECK(there.refused);
      CHECK(there.after.node->address == "10.0.0.1");
      CHECK(after_hearing(of_0_2_0, a, by, true, finds_row).after.node);
    }
  // With credentials it may report that it is alive, which changes nothing, and gets no secret.
  for (const auto& proof : {std::string(), secret_hash}) {
    const auto behind = after_hearing(of_0_2_0, a, from("6.6.6.6", proof, true));
    CHECK_FALSE(behind.refused);
    CHECK(behind.after.status() == "passing");
    CHECK(proof_of(behind.after).empty());
    CHECK(after_hearing(of_0_2_0, a, from("6.6.6.6", proof)).refused);
  }
  const auto upgraded = after_hearing(of_0_2_0, a, from("10.0.0.1", secret_hash));
  CHECK_FALSE(upgraded.refused);
  CHECK(proof_of(upgraded.after) == secret_hash);
  CHECK(upgraded.after.status() == "passing");
}

// What a server of 0.2.0 forwards has no origin: while one is a member all works as before.
TEST_CASE("agents of two versions are accepted through servers of 0.2.0, whatever credentials were presented before",
          "[client_agents][B3]") {
  const auto with_secret = settled(from("10.0.0.1", secret_hash));
  rows r = with_secret;
  leader l(r, 100s);
  l.found(100s);
  for (auto now = 101s; now < 110s; now += 1s) {
    CHECK(l.agents.received(a, now, (now / 1s) % 2 == 0 ? client_agents::evidence{} : from("10.0.0.1", secret_hash)));
    l.go_on(now);
    CHECK(r.status() == "passing");
    CHECK(proof_of(r) == secret_hash);
  }
}

TEST_CASE("a node in the catalog without an agent is not removed", "[client_agents][B3]") {
  rows r; // PUT /v1/catalog/register, without an ID
  r.node.emplace();
  r.node->node = "prod-db";
  r.node->address = "10.0.0.7";
  const client_agents::identity db{"prod-db", "id-b", "6.6.6.6"};
  for (const auto& by : {from("6.6.6.6"), from("10.0.0.7"), from("10.0.0.7", secret_hash, true)})
    CHECK(after_hearing(r, db, by, true).after.node);
  CHECK(after_hearing(r, db, from("6.6.6.6")).refused);
  CHECK(after_hearing(r, db, from("6.6.6.6", secret_hash)).after.node->address == "10.0.0.7");
  r.node->id = "id-b"; // public
  CHECK(after_hearing(r, db, from("6.6.6.6"), true).after.node);
  CHECK(after_hearing(r, db, from("6.6.6.6")).refused);
}

// A reinstalled machine has another ID and another secret. Its old node is dead by then.
TEST_CASE("a dead node's name is taken from its address, or with credentials", "[client_agents][B3]") {
  auto dead = settled(from("10.0.0.1", secret_hash));
  dead.liveness->status = "critical";
  const client_agents::identity renewed{"a", "id-new", "10.0.0.2"};
  const auto after = [&](const client_agents::evidence& by) {
    rows r = dead;
    leader l(r, 100s);
    l.found(100s);
    for (auto now = 106s; now < 112s; now += 1s) {
      l.agents.received(renewed, now, by);
      l.go_on(now);
    }
    return r;
  };
  CHECK(after(from("6.6.6.6", other_hash)).node->id == "id-a");
  CHECK(after(from("10.0.0.1", other_hash)).node->id == "id-new");
  const auto taken = after(from("10.0.0.2", other_hash, true));
  CHECK(taken.node->id == "id-new");
  CHECK(proof_of(taken) == other_hash);
}

TEST_CASE("mutant: any_agent_speaks_for_node") {
  const auto holds = [] {
    const auto r = settled(from("10.0.0.1", secret_hash));
    return after_hearing(r, a, from("6.6.6.6"), true).after.node.has_value();
  };
  CHECK(holds());
  REQUIRE(activate_mutant("any_agent_speaks_for_node"));
  const bool with = holds();
  activate_mutant("");
  CHECK_FALSE(with);
}
