// Requests about claims, write guards and fencing tokens (docs/reference/claims.md).

#include "tests/unit/protocol/http/requested.hpp"

#include "protocol/http/claims/page_cursor.hpp"

using namespace belay;
using namespace belay::http;
using namespace std::chrono_literals;

namespace {

/// The whole write request, for its wait.
write_request write_requested(std::string_view method, std::string_view target, std::string_view body = {}) {
  auto p = ask(method, target, body);
  INFO(method << " " << target);
  REQUIRE(std::holds_alternative<write_request>(p.action));
  return std::get<write_request>(std::move(p.action));
}

} // namespace

TEST_CASE("PUT of a claim returns everything about it", "[claims]") {
  const auto w = write_requested("PUT",
                                 "/v1/claim/a/b?session=s&kind=semaphore&permits=2&limit=5&priority=3&id=me&wait=30s"
                                 "&deadline=1500us&deadlock=refuse",
                                 "v");
  CHECK(w.lock_wait == 30s);
  const auto& c = std::get<state::claim_ask>(w.command);
  CHECK(c.name == "a/b");
  CHECK(c.session == "s");
  CHECK(c.kind == state::claim_kind::semaphore);
  CHECK_FALSE(c.mode);
  CHECK(c.permits == 2);
  CHECK(c.limit == 5);
  CHECK(c.priority == 3);
  CHECK(c.id == "me");
  CHECK(c.deadline_ms == 2); // never less than requested
  CHECK(c.refuse_deadlock);
  CHECK(*c.value == "v");
}

TEST_CASE("missing members of a claim are left to the resource, and it does not wait", "[claims]") {
  const auto w = write_requested("PUT", "/v1/claim/n?session=s");
  CHECK(w.lock_wait == 0s);
  const auto& c = std::get<state::claim_ask>(w.command);
  CHECK_FALSE(c.kind);
  CHECK_FALSE(c.permits);
  CHECK_FALSE(c.limit);
  CHECK(c.id.empty());
  CHECK(c.deadline_ms == 0);
  CHECK_FALSE(c.refuse_deadlock);
  CHECK(write_requested("PUT", "/v1/claim/n?session=s&wait=0s").lock_wait == 0s);
  CHECK(write_requested("PUT", "/v1/claim/n?session=s&wait=-3s").lock_wait == 0s);
  CHECK(write_requested("PUT", "/v1/claim/n?session=s&wait=20h").lock_wait == 10min); // as blocking queries
}

TEST_CASE("a name may end in transfer: a transfer has no session", "[claims]") {
  const auto claim = written<state::claim_ask>("PUT", "/v1/claim/n/transfer?session=s&id=i");
  CHECK(claim.name == "n/transfer");
  CHECK(claim.id == "i");
  CHECK(written<state::claim_release>("DELETE", "/v1/claim/n/transfer?id=i").name == "n/transfer");
  CHECK(std::get<state::claim_read>(read_requested("GET", "/v1/claim/n/transfer").query).of.name == "n/transfer");
  CHECK(written<state::claim_ask>("PUT", "/v1/claim/transfer?session=s").name == "transfer"); // no action
}

TEST_CASE("other verbs of claims", "[claims]") {
  const auto over = written<state::claim_transfer>("PUT", "/v1/claim/a/b/transfer?id=i&to=j");
  CHECK(over.name == "a/b");
  CHECK(over.id == "i");
  CHECK(over.to == "j");
  const auto mode = written<state::claim_mode_set>("PUT", "/v1/claim/n/mode?id=i&mode=shared");
  CHECK(mode.name == "n");
  CHECK(mode.mode == state::claim_mode::shared);
  const auto limit = written<state::claim_limit_set>("PUT", "/v1/claim/n/limit?n=8");
  CHECK(limit.name == "n");
  CHECK(limit.limit == 8);
  CHECK(written<state::claim_limit_unset>("DELETE", "/v1/claim/n/limit").name == "n");
  const auto release = written<state::claim_release>("DELETE", "/v1/claim/n?id=i");
  CHECK(release.name == "n");
  CHECK(release.id == "i");
  CHECK(written<state::claim_ask>("PUT", "/v1/claim/limit?session=s").name == "limit"); // no name
}

TEST_CASE("an error in a claim is a 400 that names the parameter", "[claims]") {
  struct row {
    const char *method, *target, *text;
    int status = 400;
  };
  for (const auto& t : {
           row{"PUT", "/v1/claim/?session=s", "Missing claim name"},
           row{"PUT", "/v1/claim/n?session=s&kind=mutex", "Invalid kind: one of lock, rw, semaphore, election"},
           row{"PUT", "/v1/claim/n?session=s&mode=x", "Invalid mode: one of exclusive, shared"},
           row{"PUT", "/v1/claim/n?session=s&permits=two", "Invalid permits: it must be a number"},
           row{"PUT", "/v1/claim/n?session=s&limit=-1", "Invalid limit: it must be a number"},
           row{"PUT", "/v1/claim/n?session=s&priority=", "Invalid priority: it must be a number"},
           row{"PUT", "/v1/claim/n?session=s&id=", "Invalid id: missing"},
           row{"PUT", "/v1/claim/n?session=s&wait=ever", "Invalid wait: time: invalid duration \"ever\""},
           row{"PUT", "/v1/claim/n?session=s&deadline=5", "Invalid deadline: time: missing unit in duration \"5\""},
           row{"PUT", "/v1/claim/n?session=s&deadline=0s", "Invalid deadline: above zero"},
           row{"PUT", "/v1/claim/n?session=s&deadlock=kill", "Invalid deadlock: only \"refuse\""},
           row{"PUT", "/v1/claim/n/mode?id=i", "Invalid mode: missing"},
           row{"PUT", "/v1/claim/n/limit", "Invalid n: missing"},
           row{"GET", "/v1/claim/n/mode", "Invalid name: it ends in \"/mode\", which names must not end in"},
           row{"DELETE", "/v1/claim/n/hand-over?id=i",
               "Invalid name: it ends in \"/hand-over\", which names must not end in"},
           row{"GET", "/v1/claims?prefix=a&node=b", "Conflicting flags: node=b&prefix=a"},
           row{"GET", "/v1/claims?after=xyz", "Invalid after: not a value of X-Belay-Next"},
           row{"PUT", "/v1/guard/?claim=n", "Missing prefix"},
           row{"PUT", "/v1/guard/p",
               "Invalid claim: \"claim\" or \"lock\" must name the holder whose fencing token is required"},
           row{"PUT", "/v1/guard/p?claim=a&lock=b", "Invalid claim: not together with \"lock\""},
           row{"PUT", "/v1/guard/p?lock=", "Invalid lock: missing"},
           row{"DELETE", "/v1/guard/p?fence=x", "Invalid fence: it must be a number"},
           row{"PUT", "/v1/claim/n?session=s&dc=elsewhere", "No path to datacenter", 500},
       }) {
    INFO(t.target);
    const auto r = refusal_to(t.method, t.target);
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
  }
  const auto large = refusal_to("PUT", "/v1/claim/n?session=s", std::string(4097, 'x'));
  CHECK(large.status == 413);
  CHECK(large.body == "Value is too large (4097 > 4096 bytes)");
}

TEST_CASE("claims, guards and ends of sessions are read, blocking if wanted", "[claims]") {
  const auto one = read_requested("GET", "/v1/claim/a/b?index=7&wait=1s");
  CHECK(std::get<state::claim_read>(one.query).of == state::resource_name{"a/b", state::claim_space::claims});
  CHECK(one.min_index == 7);
  CHECK(one.wait == 1s);
  const auto of_key = read_requested("GET", "/v1/kv/a/b?claims&index=7");
  CHECK(std::get<state::claim_read>(of_key.query).of == state::resource_name{"a/b", state::claim_space::keys});
  CHECK(of_key.min_index == 7);
  CHECK(std::get<state::claims_list>(read_requested("GET", "/v1/claims").query) == state::claims_list{});
  CHECK(std::get<state::claims_list>(read_requested("GET", "/v1/claims?prefix=a").query).under == "a");
  CHECK(std::get<state::claims_list>(read_requested("GET", "/v1/claims?session=s").query).session == "s");
  const std::string mark("cn\0id", 5);
  const auto page =
      std::get<state::claims_list>(read_requested("GET", "/v1/claims?node=n1&after=" + page_cursor(mark)).query);
  CHECK(page.node == "n1");
  CHECK(page.after == mark);
  CHECK(std::holds_alternative<state::claims_graph>(read_requested("GET", "/v1/claims/graph").query));
  CHECK(std::holds_alternative<state::guards_list>(read_requested("GET", "/v1/guards").query));
  CHECK(std::get<state::session_ended>(read_requested("GET", "/v1/session/ended/" + fresh_uuid).query).id ==
        fresh_uuid);
}

TEST_CASE("guards are set by a claim or by the lock of a key, and removed with a fence or without", "[claims]") {
  const auto by_claim = written<state::guard_set>("PUT", "/v1/guard/data/?claim=n");
  CHECK(by_claim.prefix == "data/");
  CHECK(by_claim.by == state::resource_name{"n", state::claim_space::claims});
  CHECK(written<state::guard_set>("PUT", "/v1/guard/data/?lock=k").by ==
        state::resource_name{"k", state::claim_space::keys});
  CHECK(written<state::guard_remove>("DELETE", "/v1/guard/data/?fence=8").fence == 8);
  CHECK(written<state::guard_remove>("DELETE", "/v1/guard/data/").fence == 0);
}

// B14: a client has all addresses of an IPv6 /64, and would have a share of bounds for each.
TEST_CASE("claims and guards carry the network of their client", "[claims][B14]") {
  http::route_settings s;
  const auto client_of = [&](std::string_view method, std::string_view target, std::string_view address) {
    http::raw_request r;
    r.method = method;
    r.target = target;
    r.remote_address = address;
    const auto parsed = http::parse(r, s, [] { return fresh_uuid; });
    return std::get<http::write_request>(parsed.action).command.client_address;
  };
  for (const auto& [method, target] :
       {std::pair("PUT", "/v1/claim/n?session=s"), std::pair("DELETE", "/v1/claim/n?id=i"),
        std::pair("PUT", "/v1/guard/data/?claim=n")}) {
    INFO(method << " " << target);
    CHECK(client_of(method, target, "192.0.2.1") == "192.0.2.1");
    CHECK(client_of(method, target, "::ffff:192.0.2.1") == "192.0.2.1");
    CHECK(client_of(method, target, "2001:db8::1") == "2001:db8::/64");
    CHECK(client_of(method, target, "2001:db8::2") == "2001:db8::/64");
  }
  CHECK_FALSE(client_of("DELETE", "/v1/guard/data/", "192.0.2.1").has_value());
}

TEST_CASE("an acquire that waits is a command of its own", "[claims]") {
  const auto w = write_requested("PUT", "/v1/kv/k?acquire=s&queue=1500us&flags=9", "v");
  const auto& a = std::get<state::kv_acquire>(w.command);
  CHECK(w.lock_wait == 1500us);
  CHECK(a.wait_ms == 2);
  CHECK(a.op.verb == state::kv_verb::lock);
  CHECK(a.op.session == "s");
  CHECK(a.op.flags == 9);
  CHECK(*a.op.value == "v");
  CHECK_FALSE(a.refuse_deadlock);
  CHECK_FALSE(a.fence);
  const auto fenced = written<state::kv_acquire>("PUT", "/v1/kv/k?acquire=s&queue=1s&deadlock=refuse&fence=8&claim=n");
  CHECK(fenced.refuse_deadlock);
  CHECK(fenced.fence == state::fence_ref{{"n", state::claim_space::claims}, 8});
  // Without a wait it is a plain acquire, as from Consul's clients.
  CHECK(written<state::kv_write>("PUT", "/v1/kv/k?acquire=s&queue=0s").op.verb == state::kv_verb::lock);
  CHECK(written<state::kv_write>("PUT", "/v1/kv/k?acquire=s").op.verb == state::kv_verb::lock);
  CHECK(refusal_to("PUT", "/v1/kv/k?cas=3&queue=1s").body == "Invalid queue: only together with \"acquire\"");
}

TEST_CASE("writes of keys may name a fence", "[claims]") {
  const auto put = written<state::fenced_write>("PUT", "/v1/kv/k?fence=812&claim=n", "v");
  CHECK(put.fence == state::fence_ref{{"n", state::claim_space::claims}, 812});
  CHECK(put.op.verb == state::kv_verb::set);
  CHECK(*put.op.value == "v");
  CHECK(written<state::fenced_write>("PUT", "/v1/kv/k?cas=3&fence=812&lock=l").op.index == log_index{3});
  const auto gone = written<state::fenced_write>("DELETE", "/v1/kv/k?recurse&fence=812&lock=l");
  CHECK(gone.op.verb == state::kv_verb::remove_tree);
  CHECK(gone.fence.of == state::resource_name{"l", state::claim_space::keys});
  CHECK(refusal_to("PUT", "/v1/kv/k?fence=812").body ==
        "Invalid fence: \"claim\" or \"lock\" must name what the fencing token belongs to");
  CHECK(refusal_to("PUT", "/v1/kv/k?claim=n").body == "Invalid fence: missing");
  CHECK(refusal_to("PUT", "/v1/kv/k?fence=a&claim=n").body == "Invalid fence: it must be a number");
}

TEST_CASE("check-fence is one of the operations of a transaction", "[claims]") {
  const auto t = written<state::fenced_txn>(
      "PUT", "/v1/txn",
      R"([{"KV":{"Verb":"check-fence","Fence":812,"Claim":"n"}},{"KV":{"Verb":"set","Key":"k","Value":"dg=="}}])");
  REQUIRE(t.body.ops.size() == 2);
  CHECK(std::get<state::fence_op>(t.body.ops[0]).fence == state::fence_ref{{"n", state::claim_space::claims}, 812});
  const auto only = std::get<state::txn_read>(
      read_requested("PUT", "/v1/txn", R"([{"KV":{"Verb":"check-fence","Fence":812,"Lock":"l"}}])").query);
  CHECK(std::get<state::fence_op>(only.ops.ops[0]).fence.of == state::resource_name{"l", state::claim_space::keys});
  CHECK(refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"check-fence","Fence":8,"Lock":"l","Claim":"n"}}])").status ==
        400);
  CHECK(refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"k","Fence":8}}])").status == 400);
  CHECK(refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"check-fense","Key":"k"}}])").body.find("unknown KV verb") !=
        std::string::npos);
}

TEST_CASE("sessions with exact TTLs and with OnEnd", "[claims]") {
  const auto s = written<state::session_begin>(
      "PUT", "/v1/session/create",
      R"({"TTL":"150ms","TTLMode":"exact","OnEnd":[{"Verb":"set","Key":"k","Value":"dg==","Flags":3},
                                                 {"Verb":"delete-cas","Key":"l","Index":7}]})");
  CHECK(s.ttl_mode == state::session_ttl_mode::exact);
  CHECK(s.session.ttl_ns == 150'000'000);
  REQUIRE(s.on_end.size() == 2);
  CHECK(s.on_end[0].verb == state::kv_verb::set);
  CHECK(*s.on_end[0].value == "v");
  CHECK(s.on_end[0].flags == 3);
  CHECK(s.on_end[1].verb == state::kv_verb::remove_cas);
  CHECK(s.on_end[1].index == log_index{7});
  written<state::session_create>("PUT", "/v1/session/create", R"({"TTL":"10s","TTLMode":"","OnEnd":[]})");
  struct row {
    const char *body, *text;
    int status = 400;
  };
  for (const auto& t : {
           row{R"({"TTL":"10s","TTLMode":"about"})", "Invalid TTLMode: only \"exact\""},
           row{R"({"TTLMode":"exact"})", "Invalid TTLMode: an exact TTL requires a TTL"},
           row{R"({"TTL":"99ms","TTLMode":"exact"})", "Invalid Session TTL '99000000', must be between [100ms=24h0m0s]",
               500},
           row{R"({"OnEnd":[{"Verb":"double","Key":"k"}]})", "Invalid OnEnd: unknown verb \"double\""},
           row{R"({"OnEnd":[{"Verb":"add","Key":"k"}]})", "Invalid OnEnd: add requires Add"},
           row{R"({"OnEnd":[{"Verb":"set","Key":"k","Fence":7}]})",
               "Invalid OnEnd: operations must not have a fencing token"},
       }) {
    INFO(t.body);
    const auto r = refusal_to("PUT", "/v1/session/create", t.body);
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
  }
}

TEST_CASE("many sessions are renewed by one request", "[claims]") {
  const std::string other = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a02";
  auto p = ask("PUT", "/v1/session/renew", "[\"" + fresh_uuid + "\",\"" + other + "\"]");
  REQUIRE(std::holds_alternative<session_renew_list>(p.action));
  CHECK(std::get<session_renew_list>(p.action).ids == std::vector<std::string>{fresh_uuid, other});
  CHECK(refusal_to("PUT", "/v1/session/renew", "").status == 400);
  CHECK(refusal_to("PUT", "/v1/session/renew", "[]").status == 400);
  CHECK(refusal_to("PUT", "/v1/session/renew", "{}").status == 400);
  CHECK(refusal_to("PUT", "/v1/session/renew", "[\"x\"]").status == 500); // as for one that is too short
  CHECK(refusal_to("PUT", "/v1/session/renew", "[\"5f1a1a6e 0c8e-4d8f-9a55-2f6d3f1f1a02\"]").status == 500);
  std::string many = "[";
  for (int i = 0; i < 4097; ++i)
    many += (i == 0 ? "\"" : ",\"") + fresh_uuid + "\"";
  CHECK(refusal_to("PUT", "/v1/session/renew", many + "]").status == 413);
}
