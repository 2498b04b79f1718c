// What a gateway sends to the audit log: its queries, what waits, and for how long.

#include "actors/audit/audit_trail.hpp"
#include "tests/unit/actors/gateway/requests/requested.hpp"

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

using decision_of_trail = audit_trail::decision;

const std::string secret_of_test = "5f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11";

struct trail_fixture : requested_fixture {
  explicit trail_fixture(bool enforced)
      : trail(
            0, audit_rules{enforced}, out, pending, [] { return "id"; }, [] { return 1; }, counted) {}

  /// A write of a key, on behalf of the only token or, if ACLs are off, of none.
  exchange& writes(bool acl = false) {
    auto& e = client->asks(std::monostate{});
    http::raw_request r;
    r.method = "PUT";
    r.target = "/v1/kv/a";
    http::parsed_request p;
    p.route = "kv";
    p.action = http::write_request{state::kv_write{}};
    if (acl)
      p.by = state::auth_context{secret_of_test, false, "dc1"};
    trail.begin(e, r, p, now);
    return e;
  }
  decision_of_trail answered(exchange& e, int status = 200) {
    e.answer.emplace();
    e.answer->status = status;
    return trail.decide(e, now);
  }
  void knows(const read_query& requested, const std::string& accessor) {
    auto t = std::make_shared<state::acl_token>();
    t->accessor = accessor;
    CHECK(trail.read_answered({requested.id, state::query_result{log_index{1}, state::permissions{{}, nullptr, t}}},
                              now));
  }
  void knows_nobody(const read_query& requested) {
    CHECK(trail.read_answered({requested.id, state::query_result{log_index{1}, state::refusal{"ACL not found"}}}, now));
  }
  /// The lines that were sent to the audit_log.
  std::string sent() { return *out.take<write_audit>().lines; }

  metrics counted;
  audit_trail trail;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("audit_trail: one batch is in progress, and lines meanwhile form the next") {
  trail_fixture f(false);
  for (int i = 0; i < 3; ++i)
    CHECK(f.answered(f.writes()) == decision_of_trail::send);
  const auto first = f.sent();
  CHECK(std::count(first.begin(), first.end(), '\n') == 1);
  CHECK(f.out.list.empty());
  f.trail.written({1, first.size(), ""}, f.now);
  const auto second = f.sent();
  CHECK(std::count(second.begin(), second.end(), '\n') == 2);
}

TEST_CASE("audit_trail: enforced, an answer waits for its line, and not for later ones") {
  trail_fixture f(true);
  auto& a = f.writes();
  auto& b = f.writes();
  CHECK(f.trail.admit(a));
  CHECK(f.trail.admit(b));
  CHECK(f.answered(a) == decision_of_trail::wait);
  CHECK(f.answered(b) == decision_of_trail::wait);
  CHECK(f.answered(a) == decision_of_trail::wait);
  const auto line = f.sent();
  f.trail.written({1, line.size(), ""}, f.now);
  CHECK(f.client->received == 2); // each waiting exchange once
  CHECK(f.trail.decide(a, f.now) == decision_of_trail::send);
  CHECK(f.trail.decide(b, f.now) == decision_of_trail::wait);
  const auto next = f.sent();
  f.trail.written({1, next.size(), ""}, f.now);
  CHECK(f.client->received == 3);
  CHECK(f.trail.decide(b, f.now) == decision_of_trail::send);
}

TEST_CASE("audit_trail: enforced, the half of a batch that did not fit on the disk is sent again, in order") {
  trail_fixture f(true);
  auto& a = f.writes();
  auto& b = f.writes();
  auto& c = f.writes();
  for (auto* e : {&a, &b, &c}) {
    CHECK(f.trail.admit(*e));
    CHECK(f.answered(*e) == decision_of_trail::wait);
  }
  f.trail.written({1, f.sent().size(), ""}, f.now);
  const auto both = f.sent();
  const auto one = both.find('\n') + 1;
  f.trail.written({1, one, "no room"}, f.now);
  CHECK(f.trail.decide(a, f.now) == decision_of_trail::send);
  CHECK(f.trail.decide(b, f.now) == decision_of_trail::send);
  CHECK(f.trail.decide(c, f.now) == decision_of_trail::withhold);
  CHECK(has(f.trail.withheld().body, "(no room)"));
  CHECK(f.out.list.empty());
  f.trail.tick(f.now + 999ms);
  CHECK(f.out.list.empty());
  f.trail.tick(f.now + 1s);
  CHECK(f.sent() == both.substr(one));
  auto& refused = f.writes();
  CHECK_FALSE(f.trail.admit(refused));
  CHECK(f.trail.decide(refused, f.now) == decision_of_trail::withhold);
  f.trail.written({1, both.size() - one, ""}, f.now);
  CHECK(f.trail.admit(f.writes()));
  CHECK(f.out.list.empty()); // requests that never began left no line
}

TEST_CASE("audit_trail: enforced, a disk that hangs is not waited for without end") {
  trail_fixture f(true);
  auto& a = f.writes();
  CHECK(f.trail.admit(a));
  CHECK(f.answered(a) == decision_of_trail::wait);
  f.trail.tick(f.now + 29s);
  CHECK(f.trail.decide(a, f.now) == decision_of_trail::wait);
  f.trail.tick(f.now + 30s);
  CHECK(f.client->received > 0);
  CHECK(f.trail.decide(a, f.now) == decision_of_trail::withhold);
  CHECK_FALSE(f.trail.admit(f.writes()));
  f.trail.written({1, f.sent().size(), ""}, f.now + 40s);
  CHECK(f.trail.admit(f.writes()));
}

TEST_CASE("audit_trail: a line waits until its token is identified, and the response need not") {
  trail_fixture f(false);
  auto& a = f.writes(true);
  const auto requested = f.out.take<read_query>();
  CHECK(requested.request.mode == http::consistency::stale);
  CHECK(requested.request.query.by->secret == secret_of_test);
  auto& b = f.writes(true); // no second query
  CHECK(f.out.list.empty());
  CHECK(f.answered(a) == decision_of_trail::send);
  CHECK(f.out.list.empty());
  f.knows(requested, "accessor-1");
  CHECK(has(f.sent(), R"("accessor_id":"accessor-1")"));
  f.trail.written({1, 1, ""}, f.now);
  CHECK(f.answered(b) == decision_of_trail::send);
  CHECK(has(f.sent(), R"("accessor_id":"accessor-1")"));
  // Cached results expire soon.
  f.writes(true);
  CHECK(f.out.list.empty());
  f.now += 1s;
  f.writes(true);
  f.out.take<read_query>();
}

// A follower gets a token after the leader, which has authorized the request.
TEST_CASE("audit_trail: a token that was unknown to this server is looked up once more when its request is done") {
  trail_fixture f(false);
  auto& done = f.writes(true);
  f.knows_nobody(f.out.take<read_query>());
  CHECK(f.answered(done) == decision_of_trail::send);
  f.knows(f.out.take<read_query>(), "accessor-1");
  const auto line = f.sent();
  CHECK(has(line, R"("accessor_id":"accessor-1")"));
  f.trail.written({1, line.size(), ""}, f.now);

  f.now += 1s;
  auto& denied = f.writes(true);
  f.knows_nobody(f.out.take<read_query>());
  CHECK(f.answered(denied, 403) == decision_of_trail::send);
  CHECK(has(f.sent(), R"("accessor_id":"","description":"")"));
}

TEST_CASE("audit_trail: tables that do not answer cost the name, not the line") {
  trail_fixture f(false);
  auto& e = f.writes(true);
  f.out.take<read_query>();
  CHECK(f.answered(e, 403) == decision_of_trail::send);
  f.trail.tick(f.now + 4999ms);
  CHECK(f.out.list.empty());
  f.trail.tick(f.now + 5s);
  CHECK(has(f.sent(), R"("accessor_id":"")"));
}

TEST_CASE("audit_trail: the outcome of a request") {
  trail_fixture f(false);
  const auto outcome = [&f](std::optional<write_result> r, int status, bool given_up = false) {
    auto& e = f.writes();
    f.trail.admit(e);
    if (given_up)
      f.trail.given_up(e);
    if (r)
      f.trail.decided(e, *r);
    f.answered(e, status);
    const auto line = f.sent();
    f.trail.written({1, line.size(), ""}, f.now);
    const auto at = line.find("\"outcome\":\"") + 11;
    return line.substr(at, line.find('"', at) - at) + (has(line, "\"index\":9") ? " 9" : "");
  };
  using wire::call_outcome;
  CHECK(outcome(write_result{{}, call_outcome::done, true, log_index{9}, ""}, 200) == "done 9");
  CHECK(outcome(write_result{{}, call_outcome::done, false, log_index{9}, ""}, 200) == "refused");
  CHECK(outcome(write_result{{}, call_outcome::done, state::refusal{"no"}, log_index{9}, ""}, 500) == "refused");
  CHECK(outcome(write_result{{}, call_outcome::refused, {}, {}, "no leader"}, 500) == "refused");
  CHECK(outcome(write_result{{}, call_outcome::unknown, {}, {}, "lost"}, 500) == "unknown");
  CHECK(outcome(std::nullopt, 500, true) == "unknown"); // its deadline passed
  CHECK(outcome(std::nullopt, 403) == "denied");
  CHECK(outcome(std::nullopt, 404) == "refused");
  CHECK(outcome(std::nullopt, 200) == "done");
}

TEST_CASE("audit_trail: at the end everything is sent, whatever is in progress") {
  trail_fixture f(true);
  auto& a = f.writes();
  f.trail.admit(a);
  f.answered(a);
  f.sent(); // and no response
  auto& b = f.writes(true);
  f.out.take<read_query>();
  f.trail.admit(b);
  f.trail.given_up(b);
  f.trail.dropped(b, f.now);
  CHECK(f.out.list.empty());
  f.trail.close();
  const auto line = f.sent();
  CHECK(has(line, R"("outcome":"unknown")"));
  CHECK_FALSE(has(line, "response"));
}
