// Requests that wait in a queue of the state machine: when they wait, queries, and results.

#include "actors/gateway/waiting/claim_waits.hpp"
#include "tests/unit/actors/gateway/requests/requested.hpp"

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

const state::resource_name claim_n{"n", state::claim_space::claims};

state::claim_answer standing(state::claim_state s) {
  state::claim_answer a;
  a.of = claim_n;
  a.id = "i";
  a.session = "s";
  a.state = s;
  a.fence = s == state::claim_state::held ? 9 : 0;
  a.index = log_index{5};
  return a;
}

struct waits_fixture : requested_fixture {
  claim_waits waits{out, pending, times};

  exchange& asks(state::command c, std::chrono::nanoseconds timeout) {
    auto& e = client->asks(std::move(c));
    e.began = now;
    e.wait_until = timeout.count() > 0 ? now + timeout : monotonic_time{};
    return e;
  }
  bool received(exchange& e, state::reply reply) {
    return waits.begin(e, {{}, wire::call_outcome::done, std::move(reply), log_index{5}, {}}, now);
  }
  void found(exchange& e, state::claim_standing s) {
    waits.answered(e, {e.id, state::query_result{log_index{6}, std::move(s)}, 0, true}, now);
  }
};

state::kv_acquire acquire(std::uint64_t wait_ms) {
  state::kv_acquire a;
  a.op.verb = state::kv_verb::lock;
  a.op.key = "k";
  a.op.session = "s";
  a.wait_ms = wait_ms;
  return a;
}

} // namespace

TEST_CASE("claim_waits: a request that is granted at once, or has no deadline, does not wait", "[claims]") {
  waits_fixture f;
  CHECK_FALSE(f.received(f.asks(state::claim_ask{}, 30s), standing(state::claim_state::held)));
  CHECK_FALSE(f.received(f.asks(state::claim_ask{}, 0s), standing(state::claim_state::waiting)));
  CHECK_FALSE(f.received(f.asks(state::claim_ask{}, 30s), state::claim_refusal{}));
  CHECK_FALSE(f.received(f.asks(acquire(1000), 1s), true));
  // Another command: a transfer has a response of its own.
  CHECK_FALSE(f.received(f.asks(state::claim_transfer{}, 30s), standing(state::claim_state::waiting)));
  CHECK(f.out.list.empty());
}

TEST_CASE("claim_waits: a claim is looked up in what this server applies, until its deadline", "[claims]") {
  waits_fixture f;
  auto& e = f.asks(state::claim_ask{}, 30s);
  e.load = 3;
  e.by = state::auth_context{"secret", false, "dc1"};
  REQUIRE(f.received(e, standing(state::claim_state::waiting)));
  CHECK(e.in_queue);
  CHECK(e.blocking());
  CHECK(e.load == 0);
  const auto q = f.out.take<read_query>();
  CHECK(q.until_decided);
  CHECK(q.request.mode == http::consistency::stale);
  CHECK(q.request.min_index == 5);
  CHECK(q.request.query.by == e.by);
  CHECK(std::get<state::claim_status>(q.request.query) == state::claim_status{claim_n, "i"});
  CHECK(q.deadline == f.now + 30s);
  CHECK(e.deadline > q.deadline); // the gateway gives up only without any result

  f.found(e, {standing(state::claim_state::held), nullptr});
  REQUIRE(e.answer);
  CHECK_FALSE(e.in_queue);
  CHECK(e.answer->body.find("\"held\"") != std::string::npos);
}

TEST_CASE("claim_waits: a claim that still waits is reported at its deadline, and not before", "[claims]") {
  waits_fixture f;
  auto& e = f.asks(state::claim_ask{}, 30s);
  REQUIRE(f.received(e, standing(state::claim_state::waiting)));
  f.out.list.clear();
  f.now += 10s;
  f.found(e, {standing(state::claim_state::waiting), nullptr}); // a restore wakes all queries
  CHECK_FALSE(e.answer);
  CHECK(f.out.take<read_query>().request.min_index == 6);
  f.now += 20s;
  f.found(e, {standing(state::claim_state::waiting), nullptr});
  REQUIRE(e.answer);
  CHECK(e.answer->status == 200);
  CHECK(e.answer->body.find("\"waiting\"") != std::string::npos);
}

TEST_CASE("claim_waits: an acquire is decided by the entry that ends its wait, and by no clock here", "[claims]") {
  waits_fixture f;
  auto& e = f.asks(acquire(1000), 1s);
  f.now += 2s; // the entry came late
  REQUIRE(f.received(e, standing(state::claim_state::waiting)));
  CHECK(f.out.take<read_query>().deadline == f.now - 2s + 1s + 7s);

  SECTION("it ended") {
    auto end = std::make_shared<state::claim_end_record>();
    end->why = state::claim_end::deadline;
    f.found(e, {std::nullopt, end});
    CHECK(e.answer->body == "false");
  }
  SECTION("it is granted, however late") {
    f.found(e, {standing(state::claim_state::held), nullptr});
    CHECK(e.answer->body == "true");
  }
  SECTION("there is no leader") {
    f.now += 10s;
    f.found(e, {standing(state::claim_state::waiting), nullptr});
    CHECK(e.answer->status == 500); // not false: it may still be granted
  }
  SECTION("its token has lost the permission") {
    f.waits.answered(e, {e.id, state::query_result{log_index{6}, state::refusal{"Permission denied"}}, 0, true}, f.now);
    CHECK(e.answer->status == 403);
  }
  SECTION("this server does not catch up") {
    f.waits.answered(e, {e.id, failure{"why"}, 0, true}, f.now);
    CHECK(e.answer->status == 500);
    CHECK(e.answer->body == "why");
  }
}

TEST_CASE("claim_waits: with a server of a version before claims an acquire waits as it did there", "[claims]") {
  waits_fixture f;
  const write_result too_new{{}, wire::call_outcome::refused, {}, {}, "server n2 may not have feature level 5: x"};
  auto& plain = f.asks(acquire(1000), 1s);
  REQUIRE(claim_waits::make_plain(plain, too_new));
  const auto& again = std::get<state::command>(plain.what);
  CHECK(std::get<state::kv_write>(again).op.key == "k");
  CHECK(std::get<state::kv_write>(again).op.verb == state::kv_verb::lock);

  auto other = too_new;
  other.text = "No cluster leader";
  CHECK_FALSE(claim_waits::make_plain(f.asks(acquire(1000), 1s), other));
  auto more = acquire(1000);
  more.refuse_deadlock = true;
  CHECK_FALSE(claim_waits::make_plain(f.asks(more, 1s), too_new));
  CHECK_FALSE(claim_waits::make_plain(f.asks(state::claim_ask{}, 1s), too_new));
}

// ---- clients that disconnect

namespace {

state::claim_answer waiting_for_lock(std::uint64_t requested_at) {
  auto a = standing(state::claim_state::waiting);
  a.of = {"k", state::claim_space::keys};
  a.id = a.session;
  a.index = log_index{requested_at};
  return a;
}

} // namespace

TEST_CASE("claim_waits: the queued acquire of a client that disconnects is named, with its entry", "[claims]") {
  waits_fixture f;
  auto& e = f.asks(acquire(30'000), 30s);
  REQUIRE(f.received(e, waiting_for_lock(5)));
  REQUIRE(f.out.waits.size() == 1); // an earlier wait with that name was requested again
  CHECK(f.out.waits[0].wait == state::wait_ref{"k", "s", log_index{5}});
  CHECK_FALSE(f.out.waits[0].disconnected);
  const auto until = e.wait_until;

  SECTION("the end of its connection") {
    e.disconnected = true;
    f.waits.forgotten(e);
  }
  SECTION("the end of its input: it is answered") {
    e.disconnected = e.input_ended = true;
    f.found(e, {waiting_for_lock(5), nullptr});
    CHECK(e.answer->status == 500);
  }
  SECTION("and another connection has asked again meanwhile: that is not the wait of this one") {
    e.disconnected = e.input_ended = true;
    f.found(e, {waiting_for_lock(7), nullptr});
  }
  REQUIRE(f.out.waits.size() == 2);
  CHECK(f.out.waits[1].wait == state::wait_ref{"k", "s", log_index{5}});
  CHECK(f.out.waits[1].disconnected);
  CHECK(f.out.waits[1].until == until);
}

TEST_CASE(
    "claim_waits: nothing is named of a connected client, of an agent that ends, of a finished wait, or of a claim",
    "[claims]") {
  waits_fixture f;
  SECTION("it is forgotten for another reason") {
    auto& e = f.asks(acquire(30'000), 30s);
    REQUIRE(f.received(e, waiting_for_lock(5)));
    f.out.waits.clear();
    f.waits.forgotten(e);
  }
  SECTION("the connection of its agent ends") {
    auto& e = f.asks(acquire(30'000), 30s);
    REQUIRE(f.received(e, waiting_for_lock(5)));
    f.out.waits.clear();
    e.input_ended = true;
    f.found(e, {waiting_for_lock(5), nullptr});
    CHECK(e.answer);
  }
  SECTION("it was granted") {
    auto& e = f.asks(acquire(30'000), 30s);
    REQUIRE(f.received(e, waiting_for_lock(5)));
    f.out.waits.clear();
    e.disconnected = e.input_ended = true;
    auto held = waiting_for_lock(6);
    held.state = state::claim_state::held;
    f.found(e, {held, nullptr});
    CHECK(e.answer->body == "true");
  }
  SECTION("it is a claim") {
    auto& e = f.asks(state::claim_ask{}, 30s);
    REQUIRE(f.received(e, standing(state::claim_state::waiting)));
    e.disconnected = true;
    f.waits.forgotten(e);
  }
  CHECK(f.out.waits.empty());
}

// The entry is written, and the wait is in the queue, whether or not anyone receives the response.
TEST_CASE("claim_waits: a client that disconnects before the outcome is known is named afterwards", "[claims]") {
  waits_fixture f;
  auto& e = f.asks(acquire(30'000), 30s);
  const auto id = f.pending.add(e);
  e.disconnected = true;
  f.waits.forgotten(e);
  f.pending.forget(e);
  CHECK(f.out.waits.empty());
  const write_result waiting{id, wire::call_outcome::done, state::reply{waiting_for_lock(5)}, log_index{5}, {}};
  f.waits.decided_late(waiting);
  REQUIRE(f.out.waits.size() == 1);
  CHECK(f.out.waits[0].wait == state::wait_ref{"k", "s", log_index{5}});
  CHECK(f.out.waits[0].disconnected);
  f.waits.decided_late(waiting);
  CHECK(f.out.waits.size() == 1);

  auto& other = f.asks(acquire(30'000), 30s);
  const auto granted = f.pending.add(other);
  other.disconnected = true;
  f.waits.forgotten(other);
  f.waits.decided_late({granted, wire::call_outcome::done, state::reply{true}, log_index{6}, {}});
  CHECK(f.out.waits.size() == 1);
}
