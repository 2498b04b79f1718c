// Go's client sends `wait`, `index`, `stale`, `near`, `token`, `dc` and `pretty` with every request
// if its options have them. In 0.2.0 `wait` on a write had another meaning: check-and-set was
// rejected. Here each route is tried with and without each of them: both must do the same.

#include "protocol/http/routes.hpp"
#include "protocol/wire/command_codec.hpp"
#include "tests/unit/protocol/http/requested.hpp"

#include <algorithm>
#include <set>

using namespace belay;
using namespace belay::http;

namespace {

/// A request that its route accepts.
struct example {
  std::string method, path, query, body;
};

/// Bodies that satisfy the handlers of all routes.
constexpr const char* bodies[] = {
    "",
    "{}",
    R"({"Node":"n","Address":"10.0.0.1"})",
    R"([{"KV":{"Verb":"set","Key":"a","Value":"eA=="}}])",
    R"({"Name":"a","TTL":"10s"})",
    R"({"Name":"a"})",
    R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQ=="})",
    R"(["5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"])",
    R"({"Node":"n","Coord":{"Vec":[0,0,0,0,0,0,0,0],"Error":1.5,"Adjustment":0,"Height":0.00001}})",
    R"({"Status":"passing"})",
    R"({"Token":"t"})",
    R"([{"Resource":"key","Access":"read","Segment":"a"}])",
    R"(key "a" { policy = "read" })",
};
constexpr const char* queries[] = {"",
                                   "id=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01",
                                   "enable=true",
                                   "session=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01",
                                   "address=10.0.0.1:8300",
                                   "claim=a",
                                   "key=a",
                                   "session=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01&kind=lock"};

std::vector<std::string> paths_of(const route& r) {
  const std::string pattern(r.pattern);
  if (!pattern.ends_with('/'))
    return {pattern};
  return {pattern + "x",       pattern + fresh_uuid,        pattern + "any",     pattern + "passing",
          pattern + "default", pattern + "x/" + fresh_uuid, pattern + "x/cancel"};
}

route_settings settings() {
  auto s = usual_settings();
  s.acl_enabled = true;
  return s;
}

parsed_request requested(const example& e, const std::string& more) {
  const auto query = e.query + (e.query.empty() || more.empty() ? "" : "&") + more;
  return ask(e.method, e.path + (query.empty() ? "" : "?" + query), e.body, {}, settings());
}

bool is_taken(const parsed_request& p) {
  const auto* r = std::get_if<response>(&p.action);
  return r == nullptr || r->status == 200;
}

std::optional<example> example_of(const route& r, std::string_view method) {
  for (const auto& path : paths_of(r))
    for (const auto* query : queries)
      for (const auto* body : bodies)
        if (const example e{std::string(method), path, query, body}; is_taken(requested(e, "")))
          return e;
  return std::nullopt;
}

/// Writes of keys, where the parameters decide what is written.
std::vector<example> writes_of_keys() {
  const auto session = fresh_uuid;
  std::vector<example> out;
  for (const auto& query : {std::string("cas=0"), "acquire=" + session, "release=" + session, std::string("flags=7")})
    out.push_back({"PUT", "/v1/kv/x", query, "value"});
  out.push_back({"DELETE", "/v1/kv/x", "cas=1", ""});
  out.push_back({"DELETE", "/v1/kv/x", "recurse", ""});
  return out;
}

/// Only agents send it, on their own connections.
bool is_of_agents(const route& r) {
  return r.pattern == "/v1/internal/agent/alive" || r.pattern == "/v1/internal/acl/rules";
}

std::vector<example> all_examples() {
  auto out = writes_of_keys();
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r)) {
      if (is_of_agents(r))
        continue;
      INFO(method << " " << r.pattern << ": no body or query above is taken");
      const auto e = example_of(r, method);
      CHECK(e);
      if (e)
        out.push_back(*e);
    }
  return out;
}

/// The effect of a write: the bytes of its log entry.
std::string done_by(const write_request& w) {
  auto command = w.command;
  command.by.reset(); // `token` changes it, which is its purpose
  return wire::encode_command(command);
}

/// What the parameter must not change: a response's text, all of a write, and a read's query.
void same(const parsed_request& with, const parsed_request& without) {
  REQUIRE(with.action.index() == without.action.index());
  CHECK(with.needs == without.needs);
  CHECK(with.route == without.route);
  if (const auto* a = std::get_if<response>(&with.action)) {
    CHECK(a->status == std::get<response>(without.action).status);
    if (!with.options.pretty)
      CHECK(a->body == std::get<response>(without.action).body);
  } else if (const auto* w = std::get_if<write_request>(&with.action)) {
    CHECK(done_by(*w) == done_by(std::get<write_request>(without.action)));
    CHECK(w->lock_wait == std::get<write_request>(without.action).lock_wait);
  } else if (const auto* l = std::get_if<local_request>(&with.action)) {
    CHECK(l->kind == std::get<local_request>(without.action).kind);
    CHECK(l->text == std::get<local_request>(without.action).text);
  } else if (const auto* g = std::get_if<agent_request>(&with.action)) {
    CHECK(g->what.index() == std::get<agent_request>(without.action).what.index());
  } else if (const auto* q = std::get_if<read_request>(&with.action)) {
    auto a = q->query, b = std::get<read_request>(without.action).query;
    a.near = b.near = {}; // affects the order only
    a.by.reset();
    b.by.reset();
    CHECK(a.index() == b.index());
    CHECK((state::same_question(a, b) || !state::same_question(b, b)));
  }
}

/// Whether a parameter affects this route, although it affects reads only elsewhere.
bool means_more(const example& e, std::string_view parameter) {
  if (parameter.starts_with("wait="))
    return e.path.starts_with("/v1/claim/") && e.method != "GET"; // Belay's own: the claim's wait
  if (parameter == "stale")
    return e.path == "/v1/snapshot" && e.method == "PUT"; // as in Consul: a restore cannot be stale
  return false;
}

} // namespace

TEST_CASE("the parameters that Go's client always sends change neither writes nor the results of reads") {
  const auto examples = all_examples();
  std::set<std::string> methods;
  int compared = 0;
  for (const auto& e : examples)
    for (const std::string parameter :
         {"wait=3000ms", "wait=", "index=5", "stale", "near=_agent", "near=n1", "token=t", "dc=dc1", "dc=", "pretty"}) {
      if (means_more(e, parameter))
        continue;
      INFO(e.method << " " << e.path << "?" << e.query << " with " << parameter);
      const auto without = requested(e, ""), with = requested(e, parameter);
      same(with, without);
      ++compared;
    }
  CHECK(compared > 1000);
}

TEST_CASE("on reads, the parameters that Go's client always sends have Consul's meaning") {
  const auto count = [](const char* parameter, auto changed) {
    int n = 0;
    for (const auto& e : all_examples()) {
      const auto with = requested(e, parameter);
      if (const auto* r = std::get_if<read_request>(&with.action))
        n += changed(with, *r) ? 1 : 0;
    }
    return n;
  };
  using std::chrono::milliseconds;
  // Fewer than the reads of the state; tests/contract/differential compares those with Consul.
  CHECK(count("index=5", [](auto&, auto& r) { return r.min_index == 5; }) > 25);
  CHECK(count("index=5&wait=3000ms", [](auto&, auto& r) { return r.wait == milliseconds(3000); }) > 25);
  CHECK(count("stale", [](auto&, auto& r) { return r.mode == consistency::stale; }) > 25);
  CHECK(count("pretty", [](auto& p, auto&) { return p.options.pretty; }) > 30);
  CHECK(count("token=t", [](auto& p, auto&) { return p.by && p.by->secret == "t"; }) > 30);
  CHECK(count("near=n1", [](auto&, auto& r) {
          const auto* s = std::get_if<state::catalog_service>(&r.query);
          return s != nullptr && r.query.near == "n1";
        }) >= 1);
}
