// A departing server: its requests, their order, and when it stays after all.

#include "protocol/forward/departure.hpp"
#include "protocol/raft/formation.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using forward::departure;
using std::chrono::milliseconds;

namespace {

const node_id a{1}, b{2}, c{3};

raft::configuration voters(std::initializer_list<node_id> ids) {
  std::vector<raft::member> members;
  for (const auto id : ids)
    members.push_back({id, "uuid" + to_string(id), "n" + to_string(id), "127.0.0.1:1"});
  return raft::configuration_of_voters(std::move(members));
}

struct leaving_member {
  departure d;
  raft::configuration config = voters({a, b, c});
  std::vector<node_id> reachable{a, b, c};
  node_id leader = a;
  bool serves = true;

  departure::step at(milliseconds t) { return d.next({a, leader, serves, config, reachable}, t); }
};

bool is_ok(const departure::step& s) {
  const auto* o = std::get_if<departure::over>(&s);
  return o != nullptr && o->how;
}

} // namespace

TEST_CASE("a leader that leaves transfers its leadership first, then sends its request to the new leader") {
  leaving_member l;
  const auto first = l.at(milliseconds(0));
  REQUIRE(std::holds_alternative<departure::transfer>(first));
  CHECK(std::get<departure::transfer>(first).to == b);
  CHECK(std::holds_alternative<departure::wait>(l.at(milliseconds(50))));
  l.leader = {}; // the election
  CHECK(std::holds_alternative<departure::wait>(l.at(milliseconds(100))));
  l.leader = b;
  CHECK(std::holds_alternative<departure::ask_leader>(l.at(milliseconds(150))));
  CHECK(std::holds_alternative<departure::wait>(l.at(milliseconds(200))));
  l.d.answered(done{});
  CHECK(is_ok(l.at(milliseconds(250))));
}

// The transfer target may be unable to lead, or leave as well: this must not repeat forever.
TEST_CASE("a leader without a transfer target removes itself") {
  leaving_member l;
  CHECK(std::get<departure::transfer>(l.at(milliseconds(0))).to == b);
  CHECK(std::get<departure::transfer>(l.at(milliseconds(1500))).to == c);
  CHECK(std::holds_alternative<departure::wait>(l.at(milliseconds(2900))));
  CHECK(std::holds_alternative<departure::ask_leader>(l.at(milliseconds(3000))));
}

TEST_CASE("a leader leaves no cluster without a majority") {
  leaving_member l;
  l.reachable = {a, b};
  CHECK(std::holds_alternative<departure::wait>(l.at(milliseconds(0)))); // it may lead for a moment only
  const auto s = l.at(milliseconds(1500));
  REQUIRE(std::holds_alternative<departure::over>(s));
  const auto& how = std::get<departure::over>(s).how;
  REQUIRE_FALSE(how);
  CHECK(how.error().find("of the 2 remaining voters only 1 can be reached") != std::string::npos);
}

TEST_CASE("a rejection by the leader is the result") {
  leaving_member l;
  l.leader = c;
  CHECK(std::holds_alternative<departure::ask_leader>(l.at(milliseconds(0))));
  l.d.answered(failure{"no"});
  const auto s = l.at(milliseconds(50));
  REQUIRE(std::holds_alternative<departure::over>(s));
  CHECK(std::get<departure::over>(s).how.error() == "no");
}

TEST_CASE("the only member of a cluster, or of none, needs no request") {
  leaving_member alone;
  alone.config = voters({a});
  alone.reachable = {a};
  CHECK(is_ok(alone.at(milliseconds(0))));
  leaving_member none;
  none.config = {};
  none.leader = {};
  none.serves = false;
  CHECK(is_ok(none.at(milliseconds(0))));
  leaving_member removed;
  removed.config = voters({b, c});
  removed.leader = b;
  CHECK(is_ok(removed.at(milliseconds(0))));
}

TEST_CASE("without a leader it sends its request to the next one") {
  leaving_member l;
  l.leader = {};
  l.serves = false;
  CHECK(std::holds_alternative<departure::ask_leader>(l.at(milliseconds(0))));
}

TEST_CASE("the majority of the remaining servers counts voters only") {
  struct row {
    std::vector<node_id> reachable;
    bool too_few;
  };
  const auto five = voters({a, b, c, node_id{4}, node_id{5}});
  const row rows[] = {
      {{a, b, c, node_id{4}, node_id{5}}, false},
      {{b, c, node_id{4}}, false}, // three of the four
      {{a, b, c}, true},           // two of the four; the leaving one does not count
  };
  for (const auto& r : rows)
    CHECK(forward::too_few_without(five, a, r.reachable).has_value() == r.too_few);
  auto learner = five;
  std::erase(learner.voters, b);
  learner.learners = {b};
  CHECK(forward::too_few_without(learner, a, {b, c}).has_value()); // one of three: a learner does not vote
}

// A read replica has no vote: without the only voter the rest could never elect a leader.
TEST_CASE("the only voter stays while there are others, and ends when it is the last one") {
  leaving_member l;
  l.config = voters({a});
  l.reachable = {a, b};
  l.config.members.push_back({b, "uuid2", "n2", "127.0.0.1:1"});
  const auto refused = l.at(milliseconds(0));
  REQUIRE(std::holds_alternative<departure::over>(refused));
  CHECK_FALSE(is_ok(refused));
  CHECK(std::get<departure::over>(refused).how.error().find("without it n2 could not commit anything") !=
        std::string::npos);
  l.config = voters({a});
  l.d = {};
  CHECK(is_ok(l.at(milliseconds(0))));
}
