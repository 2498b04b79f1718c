// Requests about this node and its cluster: answered at once if known here, else queried.

#include "actors/gateway/requests/local_questions.hpp"
#include "tests/unit/actors/gateway/requests/requested.hpp"

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;
using http::local_kind;

namespace {

cluster_view view_of_one(bool with_leader) {
  cluster_view v;
  const raft::member m{node_id{1}, "11111111-2222-3333-4444-555555555555", "n1", "127.0.0.1:8300"};
  v.config.members = {m};
  v.config.voters = {m.id};
  v.self = m.id;
  if (with_leader)
    v.soft.leader = m.id;
  return v;
}

struct questions_fixture : requested_fixture {
  local_questions questions{out, pending, times, {}};

  exchange& begin(http::local_request r) {
    auto& e = client->asks(r);
    questions.begin(e, r, now);
    return e;
  }
  void received(const status_request& requested, bool with_leader) {
    status_result s;
    s.id = requested.id;
    s.view = view_of_one(with_leader);
    questions.status_sent(s);
  }
  void decided(exchange& e, write_result r) { questions.decided(e, r); }
};

write_result set_by_leader(wire::call_outcome outcome, state::reply reply = true, std::string text = {}) {
  return {{}, outcome, std::move(reply), log_index{3}, std::move(text)};
}

} // namespace

TEST_CASE("local_questions: the leader's name is returned at once, as soon as it is known") {
  questions_fixture f;
  CHECK_FALSE(f.questions.leaderless());
  auto& first = f.begin({.kind = local_kind::status_leader});
  CHECK_FALSE(first.answer);
  CHECK(first.deadline == f.now + 67s);
  f.received(f.out.take<status_request>(), true);
  REQUIRE(first.answer);
  CHECK(first.answer->body == "\"127.0.0.1:8300\"");

  f.questions.view_changed(view_of_one(true));
  CHECK(f.questions.has_leader());
  CHECK_FALSE(f.questions.leaderless());
  auto& second = f.begin({.kind = local_kind::status_leader});
  REQUIRE(second.answer);
  CHECK(second.answer->body == "\"127.0.0.1:8300\"");
  CHECK(f.begin({.kind = local_kind::status_peers}).answer->body == "[\"127.0.0.1:8300\"]");
  CHECK(f.out.list.empty());

  f.questions.view_changed(view_of_one(false));
  CHECK(f.questions.leaderless());
  CHECK(f.begin({.kind = local_kind::status_leader}).answer->body == "\"\"");
}

// The configuration is the leader's. Without one the request is queued and retried. Go's
// SplitHostPort needs brackets ("too many colons in address"). Configurations have none.
TEST_CASE("local_questions: addresses of IPv6 are shown with brackets") {
  questions_fixture f;
  auto v = view_of_one(true);
  v.config.members[0].address = "fd00::1:8300";
  f.questions.view_changed(v);
  CHECK(f.begin({.kind = local_kind::status_leader}).answer->body == "\"[fd00::1]:8300\"");
  CHECK(f.begin({.kind = local_kind::status_peers}).answer->body == "[\"[fd00::1]:8300\"]");
  auto& held = f.begin({.kind = local_kind::raft_configuration, .stale = true});
  status_result s;
  s.id = f.out.take<status_request>().id;
  s.view = v;
  f.questions.status_sent(s);
  REQUIRE(held.answer);
  CHECK(held.answer->body.find("\"Address\":\"[fd00::1]:8300\"") != std::string::npos);
  auto& self = f.begin({.kind = local_kind::agent_self});
  s.id = f.out.take<status_request>().id;
  f.questions.status_sent(s);
  REQUIRE(self.answer);
  CHECK(self.answer->body.find("\"leader_addr\":\"[fd00::1]:8300\"") != std::string::npos);
}

TEST_CASE("local_questions: the Raft configuration waits for a leader, a stale one does not") {
  questions_fixture f;
  auto& held = f.begin({.kind = local_kind::raft_configuration});
  CHECK(held.deadline == f.now + 7s);
  CHECK(held.give_up == "No cluster leader");
  f.received(f.out.take<status_request>(), false);
  CHECK_FALSE(held.answer);
  CHECK(held.ask_again);
  const auto deadline = held.deadline;
  f.now += 1s;
  f.questions.begin(held, std::get<http::local_request>(held.what), f.now);
  CHECK(held.deadline == deadline);
  f.received(f.out.take<status_request>(), true);
  REQUIRE(held.answer);
  CHECK(held.answer->status == 200);

  auto& stale = f.begin({.kind = local_kind::raft_configuration, .stale = true});
  CHECK(stale.deadline == f.now + 67s);
  f.received(f.out.take<status_request>(), false);
  REQUIRE(stale.answer);
  CHECK(stale.answer->status == 200);
}

TEST_CASE("local_questions: a request to remove a server goes to the leader, and its response has no body") {
  questions_fixture f;
  auto& e = f.begin({.kind = local_kind::remove_peer, .removed = {forward::remove_member::named_by::id, "abc"}});
  CHECK(f.out.take<propose_write>().kind == wire::call_kind::remove_member);
  f.decided(e, set_by_leader(wire::call_outcome::done));
  CHECK(e.answer->status == 200);
  CHECK(e.answer->body.empty());
  f.decided(e, set_by_leader(wire::call_outcome::done, state::refusal{"no such server"}));
  CHECK(e.answer->status == 500);
  CHECK(e.answer->body == "no such server");
  f.decided(e, set_by_leader(wire::call_outcome::unknown, {}, "leadership lost"));
  CHECK(e.answer->status == 500);
  CHECK(e.answer->body == "leadership lost");
}

TEST_CASE("local_questions: a request to add a server goes to the leader under a name that every version supports") {
  questions_fixture f;
  auto& e = f.begin({.kind = local_kind::add_peer, .added = {"10.0.0.4:8300"}});
  const auto requested = f.out.take<propose_write>();
  CHECK(requested.kind == wire::call_kind::remove_member);
  CHECK(*requested.command == "add 10.0.0.4:8300");
  f.decided(e, set_by_leader(wire::call_outcome::done));
  CHECK(e.answer->status == 200);
}

TEST_CASE("local_questions: a probe returns within a second whether this node runs") {
  questions_fixture f;
  auto& live = f.begin({.kind = local_kind::agent_live});
  CHECK(live.deadline == f.now + 1s);
  CHECK(live.give_up == "Raft does not respond on this node");
  f.received(f.out.take<status_request>(), false);
  REQUIRE(live.answer);
  CHECK(live.answer->status == 200);
  CHECK(live.answer->body == "{\"Live\":true}");

  struct row {
    bool leader, member;
    std::uint64_t commit, applied;
    int silent_ms, status;
    const char* body;
    std::uint64_t leader_commit = 0;
    bool disk_full = false, unproven = false;
  };
  for (const auto& r : {
           row{true, true, 300, 50, 5000, 200, "{\"Ready\":true,\"Behind\":250}"},
           row{true, true, 9, 10, 0, 200, "{\"Ready\":true,\"Behind\":0}"},
           row{false, true, 9, 9, 0, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"no leader\"}"},
           row{true, false, 9, 9, 0, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"not a member of the cluster\"}"},
           row{true, true, 9, 9, 5001, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"the leader is silent\"}"},
           row{true, true, 9, 9, -1, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"the leader is silent\"}"},
           row{true, true, 301, 50, 0, 503,
               "{\"Ready\":false,\"Behind\":251,\"Reason\":\"committed entries are not applied yet\"}"},
           // It has received nothing for a while: by its own commit index it does not lag.
           row{true, true, 50, 50, 0, 200, "{\"Ready\":true,\"Behind\":250}", 300},
           row{true, true, 50, 50, 0, 503,
               "{\"Ready\":false,\"Behind\":251,\"Reason\":\"committed entries are not applied yet\"}", 301},
           row{true, true, 9, 9, 0, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"disk full\"}", 9, true},
           row{false, true, 9, 9, -1, 503, "{\"Ready\":false,\"Behind\":0,\"Reason\":\"disk full\"}", 9, true},
           row{true, true, 9, 9, 0, 200,
               "{\"Ready\":true,\"Behind\":0,\"Warning\":\"the newest checkpoint could not be read back; the previous "
               "one is kept, see the log\"}",
               9, false, true},
       }) {
    CAPTURE(r.body);
    auto& e = f.begin({.kind = local_kind::agent_ready});
    status_result s;
    s.id = f.out.take<status_request>().id;
    s.view = view_of_one(r.leader);
    if (!r.member)
      s.view.self = node_id{9};
    s.commit = log_index{r.commit};
    s.applied = log_index{r.applied};
    s.leader_commit = log_index{r.leader_commit};
    s.disk_full = r.disk_full;
    s.checkpoint_unproven = r.unproven;
    s.ms_since_leader = r.silent_ms;
    f.questions.status_sent(s);
    REQUIRE(e.answer);
    CHECK(e.answer->status == r.status);
    CHECK(e.answer->body == r.body);
  }
}

TEST_CASE("local_questions: health is requested from the leader with the settings that define it") {
  questions_fixture f;
  auto& e = f.begin({.kind = local_kind::autopilot_health});
  const auto q = f.out.take<read_query>();
  CHECK(std::holds_alternative<state::autopilot_get>(q.request.query));
  REQUIRE(f.pending.settle(q.id) == &e);
  SECTION("which cannot be read") {
    read_result r;
    r.answer = failure{"No cluster leader"};
    f.questions.rows_read(e, r);
    CHECK(e.answer->status == 500);
    CHECK(e.answer->body == "No cluster leader");
  }
  SECTION("which are there") {
    read_result r;
    r.answer = state::query_result{log_index{1}, std::make_shared<const state::autopilot_settings>()};
    const auto deadline = e.deadline;
    f.now += 1s;
    f.questions.rows_read(e, r);
    const auto w = f.out.take<propose_write>();
    CHECK(w.kind == wire::call_kind::describe_health);
    CHECK(w.id == e.id);
    CHECK(e.deadline == deadline); // two queries, one deadline
    f.decided(e, set_by_leader(wire::call_outcome::done, std::string("{\"Healthy\":true,\"FailureTolerance\":1}")));
    CHECK(e.answer->status == 200);
    CHECK(e.answer->content_type == "application/json");
    f.decided(e, set_by_leader(wire::call_outcome::done, std::string("{\"Healthy\":false,\"FailureTolerance\":0}")));
    CHECK(e.answer->status == 429);
    CHECK(e.answer->body == "{\"Healthy\":false,\"FailureTolerance\":0}");
    f.decided(e, set_by_leader(wire::call_outcome::done, true));
    CHECK(e.answer->status == 500);
    CHECK(e.answer->body == "malformed response of the leader");
  }
}

namespace {

state::node_ptr node_of_agent(std::string name, std::string id, bool marked = true) {
  state::node_record n;
  n.node = std::move(name);
  n.id = std::move(id);
  n.address = "10.0.0.7";
  if (marked)
    n.meta = state::string_map{{"consul-network-segment", ""}};
  return std::make_shared<const state::node_record>(std::move(n));
}

state::check_ptr critical_liveness(std::string node) {
  state::check_record c;
  c.node = std::move(node);
  c.check_id = "serfHealth";
  c.status = "critical";
  return std::make_shared<const state::check_record>(std::move(c));
}

/// The two queries to the catalog are sent. The answers have these agents: the server itself, a, b
/// which is silent, and a node without an agent.
void notify_catalog(questions_fixture& f, exchange& e, http::consistency mode) {
  auto q = f.out.take<read_query>();
  CHECK(std::holds_alternative<state::catalog_nodes>(q.request.query));
  CHECK(q.request.mode == mode);
  REQUIRE(f.pending.settle(q.id) == &e);
  read_result r;
  r.answer = state::query_result{
      log_index{5}, state::nodes{{node_of_agent("b", "id-b"), node_of_agent("a", "id-a"), node_of_agent("x", "", false),
                                  node_of_agent("n1", "11111111-2222-3333-4444-555555555555")}}};
  f.questions.rows_read(e, r);
  q = f.out.take<read_query>();
  REQUIRE(f.pending.settle(q.id) == &e);
  r.answer = state::query_result{log_index{5}, state::checks{{critical_liveness("b"), critical_liveness("x")}}};
  f.questions.rows_read(e, r);
}

} // namespace

TEST_CASE("local_questions: members are the servers, and the client agents in the catalog") {
  questions_fixture f;
  f.questions.view_changed(view_of_one(true));
  auto& e = f.begin({.kind = local_kind::agent_members});
  SECTION("which can be read") {
    notify_catalog(f, e, http::consistency::stale);
    f.received(f.out.take<status_request>(), true);
    REQUIRE(e.answer);
    const auto& body = e.answer->body;
    CHECK(body.find("\"Name\":\"x\"") == std::string::npos);
    CHECK(body.find("\"Name\":\"n1\"") == std::string::npos); // the server's name comes from Raft, which has none here
    const auto a = body.find(R"({"Name":"a","Addr":"10.0.0.7","Port":0,"Tags":{)"), b = body.find("\"Name\":\"b\"");
    REQUIRE(a != std::string::npos);
    REQUIRE(b != std::string::npos);
    CHECK(a < b);
    CHECK(body.find(R"("id":"id-a","role":"node","segment":"")") != std::string::npos);
    CHECK(body.find("\"Status\":1", a) < b);
    CHECK(body.find("\"Status\":4", b) != std::string::npos);
  }
  SECTION("one of which was requested to leave") {
    auto q = f.out.take<read_query>();
    REQUIRE(f.pending.settle(q.id) == &e);
    read_result r;
    const auto received = agent::requested_to_leave(*node_of_agent("a", "id-a")).node;
    r.answer = state::query_result{log_index{5}, state::nodes{{std::make_shared<const state::node_record>(received)}}};
    f.questions.rows_read(e, r);
    q = f.out.take<read_query>();
    REQUIRE(f.pending.settle(q.id) == &e);
    r.answer = state::query_result{log_index{5}, state::checks{}};
    f.questions.rows_read(e, r);
    f.received(f.out.take<status_request>(), true);
    REQUIRE(e.answer);
    CHECK(e.answer->body.find("\"Status\":2") != std::string::npos);
  }
  SECTION("which cannot be read just now") {
    const auto q = f.out.take<read_query>();
    REQUIRE(f.pending.settle(q.id) == &e);
    read_result r;
    r.answer = failure{"No cluster leader"};
    f.questions.rows_read(e, r);
    f.received(f.out.take<status_request>(), false);
    CHECK(e.answer->status == 200);
  }
}

TEST_CASE("local_questions: before there was a leader, and for -wan, the catalog is not read") {
  questions_fixture f;
  f.begin({.kind = local_kind::agent_members});
  f.out.take<status_request>();
  f.questions.view_changed(view_of_one(true));
  f.begin({.kind = local_kind::agent_members, .wan = true});
  f.out.take<status_request>();
  CHECK(f.out.list.empty());
}

TEST_CASE("local_questions: a lost agent is removed from the catalog, a live one gets a request to leave, servers are "
          "left to the leader") {
  questions_fixture f;
  f.questions.view_changed(view_of_one(true));
  SECTION("lost") {
    auto& e = f.begin({.kind = local_kind::force_leave, .forced = {"b"}});
    notify_catalog(f, e, http::consistency::normal);
    const auto w = f.out.take<check_write>();
    CHECK(std::get<state::catalog_deregister>(w.command).node == "b");
    f.decided(e, set_by_leader(wire::call_outcome::done));
    CHECK(e.answer->status == 200);
    CHECK(e.answer->body.empty());
  }
  SECTION("alive") {
    auto& e = f.begin({.kind = local_kind::force_leave, .forced = {"a"}});
    notify_catalog(f, e, http::consistency::normal);
    const auto w = f.out.take<check_write>(); // it is requested, with a flag
    const auto& received = std::get<state::catalog_register>(w.command);
    CHECK(received.node.id == "id-a");
    CHECK_FALSE(received.skip_node_update);
    CHECK(received.node.meta->contains(std::string(agent::key_of_leaving)));
    CHECK(received.checks.empty());
    f.decided(e, set_by_leader(wire::call_outcome::done));
    CHECK(e.answer->status == 200);
  }
  SECTION("none of them") {
    for (const auto* name : {"n1", "x", "nope"}) {
      auto& e = f.begin({.kind = local_kind::force_leave, .forced = {name}});
      notify_catalog(f, e, http::consistency::normal);
      CHECK(*f.out.take<propose_write>().command == std::string("force-leave ") + name);
    }
  }
  SECTION("no leader") {
    auto& e = f.begin({.kind = local_kind::force_leave, .forced = {"b"}});
    REQUIRE(f.pending.settle(f.out.take<read_query>().id) == &e);
    read_result r;
    r.answer = failure{"No cluster leader"};
    f.questions.rows_read(e, r);
    CHECK(e.answer->status == 500);
    CHECK(e.answer->body == "No cluster leader");
  }
}
