// Results of other actors become the client's response: done, refused and unknown stay distinct.

#include "actors/gateway/requests/answers.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

exchange asking(exchange::requested what) {
  exchange e;
  e.what = std::move(what);
  return e;
}

exchange a_put() {
  state::kv_op op;
  op.key = "k";
  return asking(state::command{state::kv_write{std::move(op)}});
}

std::string header(const http::response& r, std::string_view name) {
  for (const auto& [n, v] : r.headers)
    if (n == name)
      return v;
  return "(none)";
}

} // namespace

TEST_CASE("answer_to a write: the result of the state machine, or why the outcome is unknown") {
  const auto put = a_put();
  write_result done{{}, wire::call_outcome::done, true, log_index{9}, {}};
  auto r = answer_to(put, done);
  CHECK(r.status == 200);
  CHECK(r.body == "true");
  write_result unknown{{}, wire::call_outcome::unknown, {}, {}, "leadership lost while committing log"};
  r = answer_to(put, unknown);
  CHECK(r.status == 500);
  CHECK(r.body == "leadership lost while committing log");
  write_result no_leader{{}, wire::call_outcome::refused, {}, {}, "No cluster leader"};
  r = answer_to(asking(http::session_renew{"s"}), no_leader);
  CHECK(r.status == 500);
  CHECK(r.body == "No cluster leader");
}

TEST_CASE("answer_to a renewal: how long the session lives from now on") {
  const auto renewal = asking(http::session_renew{"s"});
  auto s = std::make_shared<state::session_record>();
  s->id = "s";
  const auto ttl_of = [&] {
    return header(answer_to(renewal, renew_result{{}, true, s, {}}), "X-Belay-Session-Ttl-Ms");
  };
  CHECK(ttl_of() == "(none)"); // without a TTL it lives until a client ends it
  s->ttl_ns = 10'000'000'000;
  CHECK(ttl_of() != "(none)");
  CHECK(answer_to(renewal, renew_result{{}, true, nullptr, {}}).status == 404);
  const auto r = answer_to(renewal, renew_result{{}, false, nullptr, "rpc error"});
  CHECK(r.status == 500);
  CHECK(r.body == "rpc error");
}

TEST_CASE("answer_to a read: the rows, or why they could not be read") {
  http::read_request get;
  get.query = state::kv_get{"k"};
  const auto e = asking(get);
  read_result found;
  found.answer = state::query_result{log_index{5}, state::kv_entries{}};
  found.known_leader = false;
  const auto r = answer_to(e, found);
  CHECK(r.status == 404);
  CHECK(header(r, "X-Consul-Index") == "5");
  CHECK(header(r, "X-Consul-Knownleader") == "false");
  read_result failed;
  failed.answer = failure{"No cluster leader"};
  const auto no = answer_to(e, failed);
  CHECK(no.status == 500);
  CHECK(no.body == "No cluster leader");
}
