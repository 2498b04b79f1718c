// A large response made in pieces equals, byte by byte, one made at once; no piece is long.

#include "protocol/http/piecewise_body.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

constexpr std::size_t piece_bytes = 10'000;

state::query_result tree(std::size_t keys, std::size_t value_bytes) {
  state::kv_entries found;
  for (std::size_t i = 0; i < keys; ++i) {
    state::kv_draft e;
    e.key = "tree/<" + std::to_string(i) + ">";
    e.value = make_payload(std::string(value_bytes, static_cast<char>('a' + i % 26)));
    e.flags = i;
    e.create_index = e.modify_index = log_index{i + 1};
    found.entries.push_back(e);
  }
  return {log_index{77}, std::move(found)};
}

std::shared_ptr<state::node_record> node_named(const std::string& name) {
  auto n = std::make_shared<state::node_record>();
  n->node = name;
  n->address = "10.0.0.2";
  return n;
}

std::shared_ptr<state::service_record> service_with(const std::string& id) {
  auto s = std::make_shared<state::service_record>();
  s->node = "n";
  s->id = id;
  s->service = "web";
  return s;
}

std::shared_ptr<state::check_record> check_with(const std::string& id) {
  auto c = std::make_shared<state::check_record>();
  c->node = "n";
  c->check_id = id;
  c->status = "passing";
  return c;
}

struct requested_for {
  const char* target;
  state::query_result result;
  const char* body = ""; ///< body of a transaction

  parsed_request requested() const { return ask(*body == 0 ? "GET" : "PUT", target, body); }
};

/// A transaction's results of all kinds.
state::txn_reply results() {
  state::txn_reply r;
  const auto rows = tree(500, 100);
  for (const auto& e : std::get<state::kv_entries>(rows.data).entries) {
    r.results.push_back({e, true});
    r.results.push_back({e, false});
    r.results.push_back({state::node_ptr(node_named("n")), false});
    r.results.push_back({state::service_ptr(service_with("s")), false});
    r.results.push_back({state::check_ptr(check_with("c")), false});
  }
  return r;
}

std::vector<requested_for> all_kinds() {
  std::vector<requested_for> all;
  const auto add = [&](const char* target, auto data) { all.push_back({target, {log_index{42}, std::move(data)}}); };
  all.push_back({"/v1/kv/tree?recurse", tree(300, 400)});
  all.push_back({"/v1/kv/k", tree(1, 50'000)});
  all.push_back({"/v1/kv/k?raw", tree(1, 500'000)});
  state::key_names names;
  state::sessions sessions;
  state::nodes nodes;
  state::service_names services;
  state::service_instances instances;
  state::node_services of_node{node_named("n"), {}};
  state::checks checks;
  for (int i = 0; i < 2000; ++i) {
    const auto n = std::to_string(i);
    names.keys.push_back("key/\"" + n);
    auto s = std::make_shared<state::session_record>();
    s->id = n;
    sessions.list.push_back(s);
    nodes.list.push_back(node_named(n));
    services.tags_by_service[n] = {"a", n};
    instances.list.push_back({node_named(n), service_with(n), {check_with("c"), check_with(n)}});
    of_node.services.push_back(service_with(std::to_string(2000 - i)));
    checks.list.push_back(check_with(n));
  }
  add("/v1/kv/key?keys", names);
  add("/v1/session/list", sessions);
  add("/v1/catalog/nodes", nodes);
  add("/v1/catalog/services", services);
  add("/v1/catalog/service/web", instances);
  add("/v1/health/service/web", instances);
  add("/v1/catalog/node/n", of_node);
  add("/v1/health/node/n", checks);
  add("/v1/health/state/any", state::checks{});
  all.push_back({"/v1/txn", {log_index{42}, results()}, R"([{"KV":{"Verb":"get-tree","Key":"tree"}}])"});
  return all;
}

struct whole_body {
  std::string text;
  std::size_t pieces = 0, longest = 0;
  bool gzip = false;
};

whole_body in_pieces(const requested_for& a, const state::query& q, const render_options& options) {
  const read_meta meta{3, true};
  piecewise_body body(std::make_shared<const state::query_result>(a.result), q, options, &meta);
  while (!body.go_on(piece_bytes)) {
  }
  whole_body w;
  const auto made = body.take();
  for (const auto& p : made.pieces) {
    w.text += *p;
    w.longest = std::max(w.longest, p->size());
  }
  w.pieces = made.pieces.size();
  w.gzip = made.gzip;
  CHECK(made.size == w.text.size());
  return w;
}

/// The bytes of a response, without its body if that is shared.
std::string bytes_of(const response& r, bool gzip) {
  std::string out;
  serialize(r, "today", true, gzip, {}, out);
  return out;
}

} // namespace

TEST_CASE("piecewise_body: every kind of list, indented or compressed, equals the whole one") {
  for (const auto& a : all_kinds())
    for (const bool pretty : {false, true})
      for (const bool gzip : {false, true}) {
        INFO(a.target << (pretty ? " pretty" : "") << (gzip ? " gzip" : ""));
        if (gzip && estimated_bytes(a.result) < 1'000)
          continue; // small bodies are wrapped without compression, and never made in pieces
        const auto p = a.requested();
        REQUIRE(std::holds_alternative<read_request>(p.action));
        const auto& request = std::get<read_request>(p.action);
        auto options = p.options;
        options.pretty = pretty;
        options.gzip = gzip;

        const auto at_once = bytes_of(answer_read(request, a.result, {3, true}, options), gzip);
        const auto body = in_pieces(a, request.query, options);
        const auto head = render_read_head(request, a.result, {3, true}, options);
        std::string made;
        serialize_head(head, "today", true, body.gzip, body.text.size(), {}, made);
        // Compared as a whole: the text of a difference would be megabytes.
        CHECK((made + body.text == at_once));
        if (a.result.data.index() == 0 || pretty || gzip)
          continue;
        CHECK(body.longest < 2 * piece_bytes);
        CHECK(body.pieces >= std::max<std::size_t>(1, body.text.size() / (2 * piece_bytes)));
      }
}

TEST_CASE("piecewise_body: a piece ends with the row that fills it") {
  const requested_for a{"/v1/kv/tree?recurse", tree(300, 400)};
  const auto body = in_pieces(a, state::kv_list{"tree"}, {});
  CHECK(body.pieces > 10);
  CHECK(body.longest < piece_bytes + 1'000); // and one row
}

TEST_CASE("list_rows: the size is estimated well enough to distinguish large responses from small ones") {
  for (const auto& a : all_kinds()) {
    INFO(a.target);
    const auto p = a.requested();
    const auto real = answer_read(std::get<read_request>(p.action), a.result, {}, p.options);
    const auto bytes = real.body_shared ? real.body_shared->size() : real.body.size();
    CHECK(estimated_bytes(a.result) * 3 + 100 >= bytes);
    CHECK(estimated_bytes(a.result) <= bytes * 5 + 100);
  }
}

TEST_CASE("piecewise_body: a transaction that wrote shows no metadata") {
  const state::query_result result{log_index{42}, results()};
  piecewise_body body(std::make_shared<const state::query_result>(result), state::txn_read{}, {});
  std::string text;
  while (!body.go_on(piece_bytes)) {
  }
  for (const auto& p : body.take().pieces)
    text += *p;
  CHECK((text == render_write(state::txn{}, results(), {}).body));
  state::txn_reply failed;
  failed.errors = {{0, std::string(100'000, 'x')}};
  CHECK(estimated_bytes(failed) < 1'000); // nothing of it is rendered in pieces
}

TEST_CASE("list_rows: the same rows are those that are shared, not those that look alike") {
  const auto a = tree(100, 10);
  auto b = a;
  CHECK(same_rows(a, b));
  std::get<state::kv_entries>(b.data).entries.pop_back();
  CHECK_FALSE(same_rows(a, b));
  CHECK_FALSE(same_rows(a, tree(100, 10))); // written again
  CHECK_FALSE(same_rows(a, {log_index{77}, state::sessions{}}));
}
