// sim/environment/schedule: which actor waits for which.
#include "sim/environment/schedule.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <catch2/catch.hpp>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;

/// Actors that record when they handle a message.
struct stage {
  tape choices{0, {}};
  event_trace trace{nullptr};
  schedule time{choices, trace};
  std::map<std::string, virtual_time> handled;
  std::map<std::string, caf::actor> actors;

  void add(const std::string& name, std::size_t node, actor_kind kind) {
    actors[name] = time.system().spawn([this, name](caf::event_based_actor*) -> caf::behavior {
      return {[this, name](int) { handled[name] = time.now(); }};
    });
    time.enlist(node, kind, actors[name]);
  }
  void send(const std::string& name) { caf::anon_send(actors[name], 1); }
  void run(virtual_time until) {
    while (time.step(until)) {
    }
  }
};

} // namespace

TEST_CASE("schedule: a long handler delays only its own thread", "[sim]") {
  stage s;
  s.add("tables", 0, actor_kind::fsm);
  s.add("gateway", 0, actor_kind::gateway);
  s.add("raft", 0, actor_kind::raft_peer);
  s.add("other tables", 1, actor_kind::fsm);
  s.add("other gateway", 1, actor_kind::gateway);
  s.run(milliseconds(1)); // all are there
  s.time.busy = [](const enlisted& who) {
    return who.kind == actor_kind::fsm && who.node == 0 ? virtual_time(milliseconds(50)) : virtual_time::zero();
  };
  for (const auto* name : {"tables", "gateway", "raft", "other tables", "other gateway"})
    s.send(name);
  s.run(milliseconds(500));
  CHECK(s.handled["tables"] == milliseconds(51));
  CHECK(s.handled["gateway"] == milliseconds(51));
  CHECK(s.handled["raft"] == milliseconds(1));
  CHECK(s.handled["other tables"] == milliseconds(1));
  CHECK(s.handled["other gateway"] == milliseconds(1));

  // After that, the thread is free again.
  s.send("gateway");
  s.run(milliseconds(600));
  CHECK(s.handled["gateway"] == milliseconds(500));
}

TEST_CASE("schedule: work of a dead node's thread delays no other one", "[sim]") {
  stage s;
  s.add("tables", 0, actor_kind::fsm);
  s.run({});
  s.time.busy = [](const enlisted& who) {
    return who.kind == actor_kind::fsm ? virtual_time(milliseconds(50)) : virtual_time::zero();
  };
  s.send("tables");
  s.run(milliseconds(10));
  s.time.kill(0);
  s.add("gateway", 0, actor_kind::gateway);
  s.send("gateway");
  s.run(milliseconds(100));
  CHECK(s.handled["gateway"] == milliseconds(10));
  CHECK(s.handled.count("tables") == 0);
}

} // namespace belay::sim
