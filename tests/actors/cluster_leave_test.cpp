// Servers that leave their cluster, or are forced out of it (docs/contract/09, section 4).

#include "tests/actors/cluster_fixture.hpp"

#include <caf/send.hpp>

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

/// Makes the server leave. @returns a value that is nullopt until the result is known, then empty
/// or the reason
std::shared_ptr<std::optional<std::string>> leave(cluster_fixture& c, std::size_t node) {
  auto answer = std::make_shared<std::optional<std::string>>();
  caf::anon_send(c.agent(node), leave_cluster{[answer](status s) { *answer = s ? std::string() : s.error(); }});
  return answer;
}

bool is_in_catalog(cluster_fixture& c, std::size_t through, std::size_t node) {
  const auto r = c.found(c.read(through, state::catalog_node{c.member(node).name}, consistency::stale));
  return std::get<state::node_services>(std::get<state::query_result>(r.answer).data).node != nullptr;
}

std::string forced_out(cluster_fixture& c, std::size_t through, const std::string& name) {
  const auto answer = c.written(c.operate(through, forward::force_leave{name}));
  const auto* no = std::get_if<state::refusal>(&answer.reply);
  return answer.outcome != wire::call_outcome::done ? answer.text : no != nullptr ? no->text : "";
}

} // namespace

TEST_CASE("a server that leaves is no longer a member, and its node is removed", "[actors][leave]") {
  const bool leads = GENERATE(true, false);
  const bool credentials = GENERATE(true, false); // with credentials every server that connects is admitted
  const auto shuffle = GENERATE(0u, 1u, 2u);
  CAPTURE(leads, credentials, shuffle);
  cluster_options o;
  o.shuffle = shuffle;
  o.start = false;
  cluster_fixture c(o);
  c.net().credentials = credentials;
  for (std::size_t i = 0; i < 3; ++i)
    c.start(i);
  const auto leader = c.leader();
  const auto leaving_member = leads ? leader : c.all_but(leader).front();
  REQUIRE(c.until([&] { return is_in_catalog(c, leader, leaving_member); }));
  c.put_done(leaving_member, "k", "v");

  const auto answer = leave(c, leaving_member);
  REQUIRE(c.until([&] { return answer->has_value(); }, seconds(15)));
  CHECK(**answer == "");
  const auto next = c.leader(c.all_but(leaving_member));
  CHECK(c.view(next).config.voters.size() == 2);
  // A leader that follows the one that began its removal completes it.
  CHECK(
      c.until([&] { return !c.view(next).config.joint() && !c.view(next).config.contains(c.id_of(leaving_member)); }));
  c.pass(seconds(3)); // the program would have ended long ago; it must not be added again
  CHECK_FALSE(is_in_catalog(c, next, leaving_member));
  c.crash(leaving_member);
  CHECK(c.put_done(next, "k", "w").value > 0);
  c.pass(seconds(70));
  CHECK_FALSE(is_in_catalog(c, next, leaving_member));
  CHECK(c.view(next).config.members.size() == 2);
  if (!credentials)
    return;
  c.start(leaving_member); // it is started again
  CHECK(c.until([&] { return c.view(c.leader(c.all_but(leaving_member))).config.is_voter(c.id_of(leaving_member)); },
                seconds(30)));
}

// Two operators, or an orchestrator that stops all machines at once.
TEST_CASE("servers that leave at the same time leave a majority", "[actors][leave]") {
  const auto shuffle = GENERATE(0u, 1u, 2u, 3u);
  CAPTURE(shuffle);
  cluster_options o;
  o.shuffle = shuffle;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto stays = c.all_but(leader).front(), goes = c.all_but(leader).back();
  const auto first = leave(c, leader), second = leave(c, goes);
  REQUIRE(c.until([&] { return first->has_value() && second->has_value(); }, seconds(40)));
  // Each has left or was refused; never both, which would cost the last server its quorum.
  c.pass(seconds(5));
  REQUIRE(c.until([&] { return c.serving(stays) || c.serving(leader) || c.serving(goes); }));
  const auto now = c.serving(stays) ? stays : c.serving(leader) ? leader : goes;
  CHECK(c.view(now).config.contains(c.id_of(stays)));
  if (**first == "") {
    CHECK_FALSE(c.view(now).config.contains(c.id_of(leader)));
  }
  if (**second == "") {
    CHECK_FALSE(c.view(now).config.contains(c.id_of(goes)));
  }
  CHECK(c.put_done(now, "k", "v").value > 0);
}

TEST_CASE("a server stays if its cluster could not continue without it", "[actors][leave]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto others = c.all_but(leader);
  c.crash(others.back(), true);
  c.pass(seconds(6));
  const auto leaving_member = GENERATE(0, 1) == 0 ? leader : others.front();
  const auto answer = leave(c, leaving_member);
  REQUIRE(c.until([&] { return answer->has_value(); }, seconds(15)));
  CHECK((*answer)->find("of the 2 remaining voters only 1 can be reached") != std::string::npos);
  const auto now = c.leader();
  CHECK(c.view(now).config.voters.size() == 3);
  CHECK(c.put_done(now, "k", "v").value > 0);

  // Without the lost one it may.
  CHECK(forced_out(c, now, c.member(others.back()).name) == "");
  const auto again = leave(c, leaving_member);
  REQUIRE(c.until([&] { return again->has_value(); }, seconds(15)));
  CHECK(**again == "");
}

TEST_CASE("without a leader a server cannot leave, and reports that", "[actors][leave]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto others = c.all_but(leader);
  c.crash(others.front());
  c.crash(others.back());
  REQUIRE(c.until([&] { return !c.serving(leader); }));
  const auto answer = leave(c, leader);
  const auto twice = leave(c, leader);
  REQUIRE(c.until([&] { return answer->has_value(); }, seconds(15)));
  CHECK(**answer == "No cluster leader");
  CHECK(**twice == "this server is already leaving");
}

TEST_CASE("the only server of a cluster may leave at once, and leads again when it is back", "[actors][leave]") {
  cluster_options o;
  o.nodes = 1;
  cluster_fixture c(o);
  c.leader();
  c.put_done(0, "k", "v");
  const auto answer = leave(c, 0);
  REQUIRE(c.until([&] { return answer->has_value(); }, seconds(1)));
  CHECK(**answer == "");
  c.crash(0);
  c.start(0);
  c.leader();
  CHECK(c.stale(0, "k") == "v");
}

TEST_CASE("only a server that is lost can be forced to leave", "[actors][leave]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto others = c.all_but(leader);
  const auto through = others.front(), lost = others.back();
  CHECK(forced_out(c, through, "nope") == "agent: No node found with name 'nope'");
  CHECK(forced_out(c, through, c.member(lost).name).find("is alive") != std::string::npos);
  for (const auto self : {leader, through}) {
    CHECK(forced_out(c, self, c.member(self).name) == "");
    CHECK(c.view(leader).config.contains(c.id_of(self)));
  }
  REQUIRE(c.until([&] { return is_in_catalog(c, leader, lost); }));
  c.crash(lost, true);
  c.pass(seconds(6));
  CHECK(forced_out(c, through, c.member(lost).name) == "");
  CHECK_FALSE(c.view(leader).config.contains(c.id_of(lost)));
  c.pass(seconds(3));
  CHECK_FALSE(is_in_catalog(c, leader, lost));
}
