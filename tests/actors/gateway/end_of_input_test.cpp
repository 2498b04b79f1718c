// A client closes its side of the connection before its request waits, or during the wait. It may
// be gone or still read: the wait ends. tests/cluster/gone_clients_test.cpp covers all routes.

#include "tests/actors/gateway/http_gateway_fixture.hpp"

#include "protocol/wire/command_codec.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

write_result written_at(std::uint64_t index) {
  return {{}, wire::call_outcome::done, true, log_index{index}, {}};
}

state::claim_answer third_in_queue() {
  state::claim_answer a;
  a.of.name = "c";
  a.id = "x";
  a.session = "s";
  a.position = 3;
  return a;
}

state::query_result still_waiting(const state::query&) {
  return {log_index{9}, state::claim_standing{third_in_queue(), nullptr}};
}

/// A request that delays what follows on its connection until the test answers it.
const std::string before = put("/v1/kv/before", "1");

} // namespace

TEST_CASE("the end of the input ends a blocking query, before it begins and while it waits", "[gateway]") {
  for (const bool later : {false, true}) {
    INFO((later ? "while it waits" : "before"));
    gateway_fixture f;
    f.behind().hold_reads = true;
    f.behind().hold_writes = true;
    auto c = f.client();
    c.send(before + get("/v1/kv/a?index=5&wait=10m") + get("/v1/kv/b?index=5&wait=10m"));
    REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
    const auto let_go = [&] {
      f.answer_write(0, written_at(9));
      REQUIRE(eventually([&] { return f.behind().read_count() >= 1; }));
    };
    if (later)
      let_go();
    c.end_of_output();
    f.sync();
    if (!later)
      let_go();
    CHECK(c.read().body == "true");
    CHECK(c.read().body.find(R"("Key":"k")") != std::string::npos);
    CHECK(c.read().status == 200);
    CHECK(c.closed());
    CHECK(f.behind().end_count() == (later ? 2 : 3)); // the write in progress is counted, too
    CHECK(f.behind().cancel_count() == 0);
  }
}

TEST_CASE("the end of the input ends the wait for a claim, before it begins and while it waits", "[gateway]") {
  for (const bool later : {false, true}) {
    INFO((later ? "while it waits" : "before"));
    gateway_fixture f;
    f.behind().hold_reads = true;
    f.behind().hold_writes = true;
    f.behind().answer = still_waiting;
    f.behind().check_replies = {state::reply{third_in_queue()}};
    auto c = f.client();
    c.send(before + put("/v1/claim/c?session=s&wait=10m", ""));
    REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
    if (later) {
      f.answer_write(0, written_at(9));
      REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
    }
    c.end_of_output();
    f.sync();
    if (!later)
      f.answer_write(0, written_at(9));
    CHECK(c.read().body == "true");
    const auto a = c.read();
    CHECK(a.status == 200);
    CHECK(a.body.find(R"("State":"waiting")") != std::string::npos);
    CHECK(c.closed());
    CHECK(f.behind().read_count() == (later ? 1 : 0));
  }
}

namespace {

/// Follows the system's clock, and can be set ahead by the test.
class set_clock final : public node_clock {
public:
  monotonic_time now() const override { return std::chrono::steady_clock::now() + ahead_.load(); }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override { return own; }
  void pass(std::chrono::nanoseconds t) { ahead_.store(ahead_.load() + t); }

private:
  std::atomic<std::chrono::nanoseconds> ahead_{std::chrono::nanoseconds{0}};
};

state::claim_answer second_for_lock() {
  state::claim_answer a;
  a.of = {"k", state::claim_space::keys};
  a.id = a.session = "s";
  a.position = 2;
  a.index = log_index{9};
  return a;
}

/// Waits that were withdrawn so far.
std::vector<state::wait_ref> withdrawn(gateway_fixture& f) {
  std::vector<state::wait_ref> all;
  std::lock_guard lock(f.behind().mutex);
  for (const auto& w : f.behind().writes)
    if (const auto c = wire::decode_command(*w.command))
      if (const auto* list = std::get_if<state::waits_withdraw>(&*c))
        all.insert(all.end(), list->waits.begin(), list->waits.end());
  return all;
}

} // namespace

// docs/reference/http-extensions.md, "Waiting for a lock": 5 s after the connection's end, by a test clock.
TEST_CASE("a client that ends its connection while it waits for a lock loses its position after 5 s",
          "[gateway][claims]") {
  const auto how = GENERATE(as<std::string>(), "closes", "resets", "ends its input", "asks again", "stops");
  INFO(how);
  const auto clock = std::make_shared<set_clock>();
  gateway_fixture f({}, clock);
  f.behind().hold_reads = true;
  f.behind().answer = [](const state::query&) {
    return state::query_result{log_index{9}, state::claim_standing{second_for_lock(), nullptr}};
  };
  f.behind().check_replies = {state::reply{second_for_lock()}, state::reply{second_for_lock()}};
  const auto request = put("/v1/kv/k?acquire=s&queue=10m", "v");
  auto c = f.client();
  c.send(request);
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  if (how == "stops") {
    CHECK(f.stop());
    CHECK(withdrawn(f).empty());
    return;
  }
  if (how == "ends its input")
    c.end_of_output();
  else
    how == "resets" ? c.reset() : c.close();
  REQUIRE(eventually([&] { return f.behind().cancel_count() + f.behind().end_count() >= 1; }));
  f.sync();
  clock->pass(4s);
  auto again = f.client();
  if (how == "asks again") {
    again.send(request);
    REQUIRE(eventually([&] { return f.behind().read_count() == 2; }));
  }
  f.sync();
  CHECK(withdrawn(f).empty());
  clock->pass(2s);
  if (how == "asks again") {
    std::this_thread::sleep_for(1s); // some ticks of the gateway
    CHECK(withdrawn(f).empty());
  } else {
    CHECK(eventually([&] { return !withdrawn(f).empty(); }));
    CHECK(withdrawn(f) == std::vector{state::wait_ref{"k", "s", log_index{9}}});
  }
}

// The refusal is returned only if the acquire was not retried: otherwise it would be wrong.
TEST_CASE("the end of the input ends the wait for a lock-delay with the refusal", "[gateway]") {
  state::reply refused = false;
  refused.note.why = state::refused_for::lock_delay;
  refused.note.retry_after_ms = 590'000;
  for (const bool later : {false, true}) {
    INFO((later ? "while it waits" : "before"));
    gateway_fixture f;
    f.behind().hold_writes = true;
    f.behind().check_replies = {refused};
    auto c = f.client();
    c.send(before + put("/v1/kv/a?acquire=s&queue=590s", "v"));
    REQUIRE(eventually([&] { return f.behind().write_count() == 1; }));
    if (later) {
      f.answer_write(0, written_at(9));
      REQUIRE(eventually([&] { return f.behind().check_count() == 1; }));
      f.sync();
    }
    c.end_of_output();
    f.sync();
    if (!later)
      f.answer_write(0, written_at(9));
    CHECK(c.read().body == "true");
    const auto a = c.read();
    CHECK(a.body == "false");
    CHECK(a.has("X-Belay-Reason: lock-delay"));
    CHECK(c.closed());
    CHECK(f.behind().check_count() == 1);
  }
}

TEST_CASE("the end of the input ends the wait of the agent's lists", "[gateway]") {
  gateway_fixture f({}, nullptr, true);
  f.behind().agent = [](const agent_call&) { return std::nullopt; };
  auto c = f.client();
  c.send(get("/v1/event/list?index=5&wait=10m"));
  REQUIRE(eventually([&] {
    std::lock_guard lock(f.behind().mutex);
    return f.behind().agent_calls.size() == 1;
  }));
  c.end_of_output();
  CHECK(c.read().body == "at the end");
  CHECK(c.closed());
}

TEST_CASE("the end of the input ends a stream of the log, after the present lines", "[gateway][monitor]") {
  log::configure({log::level::error, false, false, {}});
  gateway_fixture f;
  auto c = f.client();
  c.send(get("/v1/agent/monitor?loglevel=warn"));
  REQUIRE(c.receive().find("200 OK") != std::string::npos);
  log::warn("test", "before the end");
  c.end_of_output();
  const auto all = c.rest();
  CHECK(all.find("before the end") != std::string::npos);
  CHECK(all.ends_with("0\r\n\r\n"));
  log::configure({});
}

TEST_CASE("the end of the input ends a request that waits for a leader", "[gateway]") {
  gateway_settings s;
  s.queue_timeout = 590s;
  for (const bool later : {false, true}) {
    INFO((later ? "while it waits" : "before"));
    gateway_fixture f(s);
    auto c = f.client();
    c.send(get("/v1/operator/raft/configuration"));
    if (later)
      f.sync();
    c.end_of_output();
    const auto a = c.read();
    CHECK(a.status == 500);
    CHECK(a.body == "No cluster leader");
    CHECK(c.closed());
  }
}

// It has sent more than the server reads ahead, so the end of its input is not read yet.
TEST_CASE("the end of the input is noticed after requests that are not read yet", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  auto c = f.client();
  c.send(get("/v1/kv/a?index=5&wait=10m"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  constexpr int others = 8;
  for (int i = 0; i < others; ++i)
    c.send(get("/v1/nothing", "X-Long: " + std::string(16'000, 'x') + "\r\n"));
  c.end_of_output();
  CHECK(c.read().status == 200);
  for (int i = 0; i < others; ++i)
    CHECK(c.read().status == 404);
  CHECK(c.closed());
}

TEST_CASE("a reset after requests that are not read yet is noticed, too", "[gateway]") {
  gateway_fixture f;
  f.behind().hold_reads = true;
  auto c = f.client();
  c.send(get("/v1/kv/a?index=5&wait=10m"));
  REQUIRE(eventually([&] { return f.behind().read_count() == 1; }));
  for (int i = 0; i < 8; ++i)
    c.send(get("/v1/nothing", "X-Long: " + std::string(16'000, 'x') + "\r\n"));
  f.sync();
  c.reset();
  CHECK(eventually([&] { return f.behind().cancel_count() == 1; }));
}
