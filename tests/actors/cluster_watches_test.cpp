// Blocking queries: woken by changes of their result, by nothing else, and at their deadline.

#include "tests/actors/cluster_fixture.hpp"
#include "tests/harness/cpu_time.hpp"

#include "actors/tables/watch_registry.hpp"
#include "sim/environment/stub_of.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;
using namespace std::chrono_literals;

namespace {

/// The value of a gauge in a "prometheus" text; -1: it is not there.
int gauge(const std::string& text, const std::string& part_of_name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty() || line.front() == '#' || line.find(part_of_name) == std::string::npos)
      continue;
    return std::atoi(line.c_str() + line.rfind(' ') + 1);
  }
  return -1;
}

int parked(cluster_fixture& c, std::size_t node) {
  return gauge(c.metrics_text(node), "parked");
}

} // namespace

TEST_CASE("a parked query is woken by a change, on any node", "[actors][watches]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto node = GENERATE(0u, 1u, 2u);
  const auto mode = GENERATE(consistency::normal, consistency::consistent, consistency::stale);
  const auto index = c.put_done(leader, "k", "1").value;
  c.pass(milliseconds(100));
  const auto w = c.read(node, state::kv_get{"k"}, mode, index);
  const auto absent = c.read(node, state::kv_get{"not there"}, mode, index);
  c.pass(seconds(1));
  REQUIRE_FALSE(c.answered(w));
  CHECK(parked(c, node) == 2);

  c.put_done(leader, "other", "1");
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(w));
  const auto next = c.put_done(c.all_but(leader).front(), "k", "2");
  const auto r = c.found(w);
  CHECK(value_of(r) == "2");
  CHECK(index_of(r) == next.value);
  CHECK(c.now() - c.answers(w).at <= milliseconds(100));
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(absent));
  CHECK(parked(c, node) == 1);
}

TEST_CASE("a parked query is woken by the deletion of the tree it is in", "[actors][watches][C5]") {
  // The delete names neither the key nor the prefix that is listed.
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "app/a/1", "x");
  const auto index = c.put_done(leader, "app/a/2", "x").value;
  const auto follower = c.all_but(leader).front();
  c.pass(milliseconds(100));
  const auto one = c.read(follower, state::kv_get{"app/a/2"}, consistency::stale, index);
  const auto list = c.read(follower, state::kv_list{"app/a/"}, consistency::stale, index);
  c.pass(seconds(1));
  REQUIRE_FALSE(c.answered(one));
  REQUIRE_FALSE(c.answered(list));
  const auto removed = c.written(c.write(leader, remove_tree("app/")));
  CHECK(value_of(c.found(one)) == "(none)");
  CHECK(value_of(c.found(list)) == "(none)");
  CHECK(index_of(c.found(list)) >= removed.index.value);
}

TEST_CASE("an identical write wakes no query", "[actors][watches][C7]") {
  // Consul keeps the index when a write changes nothing, and clients rely on not being woken.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto index = c.put_done(leader, "k", "same").value;
  const auto w = c.read(leader, state::kv_get{"k"}, consistency::normal, index);
  c.put_done(leader, "k", "same");
  c.pass(seconds(5));
  CHECK_FALSE(c.answered(w));
  c.put_done(leader, "k", "different");
  CHECK(value_of(c.found(w)) == "different");
}

TEST_CASE("a parked query returns the present data at its deadline", "[actors][watches]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto index = c.put_done(leader, "k", "v").value;
  const auto begun = c.now();
  const auto w = c.read(leader, state::kv_get{"k"}, consistency::normal, index, seconds(10));
  const auto r = c.found(w);
  CHECK(value_of(r) == "v");
  CHECK(index_of(r) == index);
  CHECK(c.answers(w).at - begun >= seconds(10));
  CHECK(c.answers(w).at - begun <= seconds(10) + milliseconds(20));
  CHECK(parked(c, leader) == 0);
}

TEST_CASE("a query whose client disconnected is dropped, wherever it is", "[actors][watches]") {
  // A client that disconnects and retries a thousand times must not leave a thousand parked
  // queries, nor responses without a receiver.
  cluster_fixture c;
  const auto leader = c.leader();
  const auto index = c.put_done(leader, "k", "1").value;
  const auto watching = c.read(leader, state::kv_get{"k"}, consistency::normal, index);
  c.pass(milliseconds(100));
  REQUIRE(parked(c, leader) == 1);
  c.cancel(watching);
  c.pass(milliseconds(100));
  CHECK(parked(c, leader) == 0);

  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      if (i != j)
        c.net().hold(i, j);
  const auto at_barrier = c.read(leader, state::kv_get{"k"}, consistency::consistent, index);
  c.settle();
  c.cancel(at_barrier);
  c.net().release();
  c.pass(seconds(1));
  CHECK(parked(c, leader) == 0);
  c.put_done(leader, "k", "2");
  c.pass(seconds(1));
  CHECK_FALSE(c.answered(watching));
  CHECK_FALSE(c.answered(at_barrier));
}

// Each was searched for among all that wait: 10,000 clients without a leader took a second.
TEST_CASE("clients that give up together cost no more than each alone", "[actors][watches]") {
  const auto cost = [](int clients) {
    cluster_fixture c;
    const auto leader = c.leader();
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        if (i != j)
          c.net().hold(i, j);
    std::vector<call> calls;
    for (int i = 0; i < clients; ++i)
      calls.push_back(c.read(leader, state::kv_get{"k"}, consistency::consistent));
    c.settle();
    const auto begun = harness::thread_cpu_time();
    for (const auto& each : calls)
      c.cancel(each);
    c.settle();
    const auto took = harness::thread_cpu_time() - begun;
    c.net().release();
    c.pass(seconds(1));
    CHECK(std::none_of(calls.begin(), calls.end(), [&](const call& each) { return c.answered(each); }));
    return took;
  };
  // 16 times the clients; the square of that is 256.
  CHECK(harness::holds_once([&] { return cost(16'000) < 50 * cost(1000); }));
}

TEST_CASE("no write between two blocking queries is missed", "[actors][watches]") {
  // A client reads, gets an index, and waits with it. In whatever order the actors of the node run,
  // each change is seen: the last response has the last value, and indexes rise.
  const auto shuffle = GENERATE(1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u);
  CAPTURE(shuffle);
  cluster_options o;
  o.shuffle = shuffle;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  auto index = c.put_done(leader, "k", "0").value;
  auto w = c.read(follower, state::kv_get{"k"}, consistency::stale, index);
  std::string seen;
  int answers = 0;
  for (int i = 1; i <= 30; ++i) {
    c.put(i % 2 == 0 ? leader : follower, "k", std::to_string(i));
    c.pass(milliseconds(i % 3));
    while (c.answered(w)) {
      const auto r = c.found(w);
      CHECK(index_of(r) > index);
      index = index_of(r);
      seen = value_of(r);
      ++answers;
      w = c.read(follower, state::kv_get{"k"}, consistency::stale, index);
      c.settle();
    }
  }
  if (seen != "30")
    seen = value_of(c.found(w));
  CHECK(seen == "30");
  CHECK(answers > 0);
}

// Otherwise a hundred of them would take a hundred times as long, on the HTTP thread.
TEST_CASE("queries that wait for the same large tree share its rows, which are looked up once", "[actors][watches]") {
  cluster_options o;
  o.nodes = 1;
  cluster_fixture c(o);
  c.leader();
  log_index index;
  for (int i = 0; i < 100; ++i)
    index = c.put_done(0, "tree/" + std::to_string(i), "v");
  c.put_done(0, "tree2", "v");
  std::vector<call> waiting, narrower;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(c.read(0, state::kv_list{"tree/"}, consistency::normal, index.value));
    narrower.push_back(c.read(0, state::kv_list{"tree/1"}, consistency::normal, index.value)); // 11 keys
  }
  const auto names = c.read(0, state::kv_keys{"tree/", ""}, consistency::normal, index.value);
  c.pass(seconds(1));
  const auto next = c.put_done(0, "tree/1", "new");

  const auto first = c.found(waiting.front());
  REQUIRE(first.shared != nullptr);
  CHECK(index_of(first) == next.value);
  CHECK(std::get<state::kv_entries>(first.shared->data).entries.size() == 100);
  for (const auto& w : waiting)
    CHECK(c.found(w).shared == first.shared);
  for (const auto& n : narrower) {
    const auto r = c.found(n);
    CHECK(r.shared == nullptr); // so few rows are looked up for each query
    CHECK(std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries.size() == 11);
  }
  const auto keys = c.found(names);
  CHECK(keys.shared != first.shared);
  CHECK(std::get<state::key_names>(std::get<state::query_result>(keys.answer).data).keys.size() == 100);
}

TEST_CASE("a follower of keys without writes loses nothing while others write more than the window holds",
          "[actors][watches][changes]") {
  // The changes after the cursor have left the window, but were about other keys: no need to reset.
  cluster_options o;
  o.machine.changes_bytes_max = 4000;
  cluster_fixture c(o);
  const auto leader = c.leader();
  const auto node = GENERATE(0u, 1u);
  const auto begin = c.put_done(leader, "quiet/0", "v");
  c.pass(milliseconds(100));
  const state::kv_changes requested{{"quiet/"}, state::change_position{begin}, state::kv_changes::what::changes};
  const auto received = c.read(node, requested, consistency::stale, begin.value, seconds(60));
  const auto late = c.read(node, requested, consistency::stale, begin.value, seconds(5));
  log_index last;
  for (int i = 0; i < 50; ++i)
    last = c.put_done(leader, "busy/" + std::to_string(i), std::string(100, 'v'));
  c.pass(milliseconds(100));
  REQUIRE_FALSE(c.answered(received));
  REQUIRE_FALSE(c.answered(late));
  const auto rows_in = [](const read_result& r) { return std::get<state::change_rows>(r.found()->data); };

  c.pass(seconds(6));
  const auto nothing = rows_in(c.found(late));
  CHECK(nothing.floor > begin);
  CHECK_FALSE(nothing.gone);
  CHECK(nothing.list.empty());
  CHECK(nothing.reached.index >= last);

  const auto written = c.put_done(leader, "quiet/1", "v");
  const auto one = rows_in(c.found(received));
  CHECK_FALSE(one.gone);
  REQUIRE(one.list.size() == 1);
  CHECK(one.list.front().index == written);

  const auto again = c.read(node, requested, consistency::stale, begin.value, seconds(60)); // did not wait here
  CHECK(rows_in(c.found(again)).gone);
}

namespace {

/// A watch_registry alone, with an fsm that records which queries are late.
class registry_alone {
public:
  registry_alone()
      : system_(config_), scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
    scheduler_.clock().current_time += 1h;
    node_actors_->fsm = sim::stub_of<fsm_actor>(system_, [this](const queries_touched& t) {
      for (const auto id : t.ids)
        late.emplace_back(id.value, now() - began);
    });
    node_actors_->watch_registry = system_.spawn<watch_registry>(nullptr, node_actors_, counted_);
    settle();
    began = now();
  }
  ~registry_alone() {
    caf::anon_send(node_actors_->watch_registry, stop_atom::value);
    caf::anon_send(node_actors_->fsm, stop_atom::value);
    settle();
    *node_actors_ = {};
    scheduler_.clock().cancel_all();
    settle();
  }

  void park(std::uint64_t id, std::chrono::milliseconds wait) {
    caf::anon_send(node_actors_->watch_registry, park_query{request_id{id}, state::kv_get{"a"}, now() + wait});
    settle();
  }
  void pass(std::chrono::milliseconds d) {
    for (const auto end = now() + d; now() < end; settle())
      scheduler_.advance_time(1ms);
  }
  std::size_t timers() { return scheduler_.clock().schedule().size(); }
  monotonic_time now() { return scheduler_.clock().now(); }

  std::vector<std::pair<std::uint64_t, std::chrono::nanoseconds>> late; ///< and when
  monotonic_time began;

private:
  void settle() {
    while (scheduler_.try_run_once()) {
    }
  }

  struct config : caf::actor_system_config {
    config() { set("scheduler.policy", caf::atom("testing")); }
  };
  config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  metrics counted_;
  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
};

} // namespace

TEST_CASE("blocking queries are answered at their deadline, and no timer runs without them", "[actors][idle]") {
  registry_alone r;
  CHECK(r.timers() == 0);
  r.park(1, 5000ms);
  r.park(2, 300ms); // parked later, ends sooner
  r.park(3, 290ms);
  r.pass(6000ms);
  REQUIRE(r.late.size() == 3);
  for (const auto& [id, when] : r.late) {
    const auto wait = id == 1 ? 5000ms : id == 2 ? 300ms : 290ms;
    INFO("query " << id);
    CHECK(when >= wait);
    CHECK(when <= wait + 21ms);
  }
  CHECK(r.timers() == 0);
}

// Thousands of clients may wait for one key. To evaluate all at once would delay all other reads.
TEST_CASE("queries that one change wakes are evaluated in slices, each once", "[actors][watches]") {
  cluster_fixture c;
  const auto leader = c.leader();
  const auto index = c.put_done(leader, "k", "1").value;
  c.pass(milliseconds(100));
  constexpr int watchers = 2'500;
  std::vector<decltype(c.read(leader, state::kv_get{"k"}, consistency::normal, index))> waiting;
  for (int i = 0; i < watchers; ++i)
    waiting.push_back(c.read(leader, state::kv_get{"k"}, consistency::stale, index));
  c.pass(seconds(1));
  REQUIRE(parked(c, leader) == watchers);
  c.put_done(leader, "k", "2");
  c.pass(seconds(1));
  auto first = monotonic_time::max(), last = monotonic_time{};
  for (const auto& w : waiting) {
    REQUIRE(c.answered(w));
    CHECK(value_of(c.found(w)) == "2");
    first = std::min(first, c.answers(w).at);
    last = std::max(last, c.answers(w).at);
  }
  CHECK(last > first); // time passes between slices, and nowhere else
  CHECK(parked(c, leader) == 0);
}
