// Responses about claims, write guards and ended sessions (docs/reference/claims.md).

#include "protocol/http/claims/claim_render.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using state::claim_space;

namespace {

const state::resource_name claim_n{"n", claim_space::claims};
const state::resource_name lock_k{"k", claim_space::keys};

state::claim_answer held() {
  state::claim_answer a;
  a.of = claim_n;
  a.id = "i";
  a.session = "s";
  a.state = state::claim_state::held;
  a.fence = 812;
  a.index = log_index{811};
  return a;
}

state::claim_answer waiting() {
  auto a = held();
  a.state = state::claim_state::waiting;
  a.fence = 0;
  a.position = 2;
  a.ahead = {{"h", "t", state::claim_state::held}, {"w", "u", state::claim_state::waiting}};
  return a;
}

state::claim_standing ended(state::claim_end why, const std::string& cause = {}) {
  auto end = std::make_shared<state::claim_end_record>();
  end->of = claim_n;
  end->id = "i";
  end->session = "s";
  end->why = why;
  end->cause = cause;
  return {std::nullopt, end};
}

state::claim_row row(state::claim_state s) {
  auto c = std::make_shared<state::claim_record>();
  c->of = claim_n;
  c->id = "i";
  c->session = "s";
  c->state = s;
  c->value = make_payload("v");
  c->requested = cluster_time{1000};
  if (s == state::claim_state::held) {
    c->granted = cluster_time{1200};
    c->fence = 7;
  } else {
    c->deadline = cluster_time{2000};
  }
  return {c, "n1", s == state::claim_state::held ? std::uint64_t{0} : 1};
}

read_request of(state::query q) {
  return {std::move(q), consistency::normal, 0, {}};
}

response read_answer(state::query q, decltype(state::query_result::data) data) {
  return render_read(of(std::move(q)), {log_index{9}, std::move(data)}, {}, {});
}

} // namespace

TEST_CASE("a claim that is held shows its fencing token, one that waits its position", "[claims]") {
  const state::command c = state::claim_ask{};
  auto r = render_write(c, held(), {}, log_index{811}, 14200);
  CHECK(r.status == 200);
  CHECK(r.content_type == "application/json");
  CHECK(r.body == R"({"ID":"i","Session":"s","State":"held","Fence":812,"Index":811,"TtlMs":14200})");
  CHECK(header(r, "X-Belay-Index") == "811");
  r = render_write(c, waiting(), {}, log_index{811});
  CHECK(
      r.body ==
      R"({"ID":"i","Session":"s","State":"waiting","Position":2,"Place":2,"Ahead":[{"ID":"h","Session":"t","State":"held"},)"
      R"({"ID":"w","Session":"u","State":"waiting"}],"Index":811})");
}

TEST_CASE("rejections have the status of their cause, and a reason", "[claims]") {
  using state::claim_error;
  struct row {
    claim_error why;
    int status;
    const char* reason;
  };
  for (const auto& t :
       {row{claim_error::parameter, 400, "parameter"}, row{claim_error::unknown_session, 404, "unknown-session"},
        row{claim_error::kind, 409, "kind"}, row{claim_error::deadlock, 409, "deadlock"},
        row{claim_error::guarded, 409, "guarded"}, row{claim_error::value_size, 413, "value-size"},
        row{claim_error::queue_full, 429, "queue-full"}, row{claim_error::bytes_full, 429, "bytes-full"}}) {
    INFO(t.reason);
    state::claim_refusal no;
    no.why = t.why;
    no.text = "because";
    const auto r = render_write(state::claim_ask{}, no, {}, log_index{5});
    CHECK(r.status == t.status);
    CHECK(r.body == "because");
    CHECK(header(r, "X-Belay-Reason") == t.reason);
    CHECK(header(r, "X-Belay-Index") == "(none)");
  }
  state::claim_refusal over;
  over.why = claim_error::ended;
  over.ended = state::claim_end::deadline;
  const auto r = render_write(state::claim_ask{}, over, {}, log_index{5});
  CHECK(r.status == 410);
  CHECK(header(r, "X-Belay-Reason") == "deadline");
}

TEST_CASE("a deadlock shows its cycle, without names that may not be read", "[claims]") {
  state::claim_refusal no;
  no.why = state::claim_error::deadlock;
  no.text = "it would wait for itself";
  no.cycle = {{"a", "a", claim_n, false, "b", true}, {"b", "b", {}, true, "a", false}};
  CHECK(render_claim_refusal(no).body == "it would wait for itself\n"
                                         "session a waits for claim \"n\", held by session b\n"
                                         "session b waits for a redacted name, behind session a");
}

TEST_CASE("a waiter gets the outcome of its wait", "[claims]") {
  const state::command claim = state::claim_ask{}, acquire = state::kv_acquire{};
  auto r = render_wait(claim, {held(), nullptr}, {}, 5);
  CHECK(r.body == R"({"ID":"i","Session":"s","State":"held","Fence":812,"Index":811,"TtlMs":5})");
  r = render_wait(claim, {waiting(), nullptr}, {}, 0);
  CHECK(r.status == 200);
  CHECK(r.body.find("\"waiting\"") != std::string::npos);
  r = render_wait(claim, ended(state::claim_end::limit), {}, 0);
  CHECK(r.status == 410);
  CHECK(r.body == "claim \"i\" ended: limit");
  r = render_wait(acquire, {held(), nullptr}, {}, 0);
  CHECK(r.body == "true");
  CHECK(header(r, "X-Belay-Fence") == "812");
  CHECK(header(r, "X-Belay-Index") == "811");
  r = render_wait(acquire, ended(state::claim_end::deadline), {}, 0);
  CHECK(r.status == 200);
  CHECK(r.body == "false");
  CHECK(header(r, "X-Belay-Reason") == "deadline");
  for (const auto& c : {claim, acquire}) {
    r = render_wait(c, ended(state::claim_end::session, "ttl"), {}, 0);
    CHECK(r.status == 404);
    CHECK(r.body == "session \"s\" ended: ttl");
    CHECK(render_wait(c, {}, {}, 0).status == 404);
  }
}

TEST_CASE("an acquire that cannot be waited for is neither granted nor refused", "[claims]") {
  CHECK(render_write(state::kv_acquire{}, waiting(), {}, log_index{811}).status == 500);
}

TEST_CASE("a resource shows holders with their values, and waiters without", "[claims]") {
  state::claim_view view;
  CHECK(read_answer(state::claim_read{claim_n}, view).status == 404);
  view.known = true;
  view.kind = state::claim_kind::semaphore;
  view.limit = 5;
  view.holders = {row(state::claim_state::held)};
  view.holder_count = 1;
  view.queue = {row(state::claim_state::waiting)};
  view.queue_length = 1;
  view.delays = {{"", claim_n, "g", "t", state::claim_mode::exclusive, 2, 6, cluster_time{1600}}};
  view.now = cluster_time{1500};
  const auto r = read_answer(state::claim_read{claim_n}, view);
  CHECK(r.status == 200);
  CHECK(header(r, "X-Consul-Index") == "9");
  CHECK(
      r.body ==
      R"({"Kind":"semaphore","Limit":5,"LimitFixed":false,"Pinned":false,"HolderCount":1,"Holders":[{"ID":"i","Session":"s","Node":"n1",)"
      R"("Mode":"exclusive","Permits":1,"Priority":0,"Fence":7,"Value":"dg==","HeldMs":300,"SinceMs":300}],"QueueLength":1,)"
      R"("Queue":[{"ID":"i","Session":"s","Node":"n1","Mode":"exclusive","Permits":1,"Priority":0,"Position":1,"Place":1,)"
      R"("WaitingMs":500,"DeadlineMs":500}],"Delays":[{"ID":"g","Session":"t","Mode":"exclusive","Permits":2,)"
      R"("Fence":6,"RemainingMs":100,"LeftMs":100}]})");
}

TEST_CASE("listings of claims have pages", "[claims]") {
  state::claim_rows page;
  CHECK(read_answer(state::claims_list{}, page).body == "[]");
  page.list = {row(state::claim_state::waiting)};
  page.list.front().position = 0; // unknown here
  page.next = std::string("cn\0i", 4);
  page.now = cluster_time{1500};
  const auto r = read_answer(state::claims_list{}, page);
  CHECK(r.body ==
        R"([{"Claim":"n","State":"waiting","ID":"i","Session":"s","Node":"n1","Mode":"exclusive","Permits":1,)"
        R"("Priority":0,"WaitingMs":500,"DeadlineMs":500}])");
  CHECK(header(r, "X-Belay-Next") == "636e0069");
}

TEST_CASE("graph, guards and ended sessions", "[claims]") {
  state::wait_graph graph;
  graph.edges = {{"a", "i", lock_k, false, "b", true}, {"b", "b", {}, true, "a", false}};
  CHECK(
      read_answer(state::claims_graph{}, graph).body ==
      R"({"Edges":[{"Session":"a","ID":"i","Lock":"k","Blocker":"b","BlockerHolds":true},)"
      R"({"Session":"b","ID":"b","Redacted":true,"Hidden":true,"Blocker":"a","BlockerHolds":false}],"Truncated":false,"Cut":false})");
  CHECK(read_answer(state::guards_list{}, state::guard_rows{{{"p/", claim_n, log_index{4}, {}}}}).body ==
        R"([{"Prefix":"p/","Claim":"n","CreateIndex":4}])");
  state::ended_session_rows ended;
  CHECK(read_answer(state::session_ended{"s"}, ended).status == 404);
  auto s = std::make_shared<state::ended_session>();
  s->id = "s";
  s->name = "worker";
  s->node = "n1";
  s->cause = "ttl";
  s->index = log_index{8};
  s->at = cluster_time{1000};
  s->released = {lock_k, claim_n};
  s->released_count = 2;
  s->on_end_done = 1;
  ended.list = {s};
  ended.now = cluster_time{1500};
  CHECK(
      read_answer(state::session_ended{"s"}, ended).body ==
      R"({"ID":"s","Name":"worker","Node":"n1","Cause":"ttl","Index":8,"EndedMsAgo":500,"AgoMs":500,"Released":[{"Lock":"k"},)"
      R"({"Claim":"n"}],"ReleasedCount":2,"OnEndDone":1,"OnEndRefused":0})");
}

TEST_CASE("a session shows additional members only if it has them", "[claims]") {
  auto s = std::make_shared<state::session_record>();
  s->id = "s";
  const auto shown = [&] { return render_renew("s", s, {}).body; };
  CHECK(shown().find("TTLMode") == std::string::npos);
  CHECK(shown().find("OnEnd") == std::string::npos);
  s->ttl_mode = state::session_ttl_mode::exact;
  s->on_end.resize(2);
  CHECK(shown().ends_with(R"("ModifyIndex":0,"TTLMode":"exact","OnEndCount":2}])"));
}

TEST_CASE("renewals of several sessions return the time of each", "[claims]") {
  CHECK(render_renewals({"a", "b", "c"}, {20000, std::nullopt, 0}, {}).body ==
        R"([{"ID":"a","Renewed":true,"TtlMs":20000},{"ID":"b","Renewed":false},{"ID":"c","Renewed":true}])");
}
