#include "tests/fuzz/property.hpp"
#include "tests/fuzz/subjects.hpp"

#include "actors/gateway/http_reader.hpp"
#include "protocol/base/bytes.hpp"
#include "protocol/base/random.hpp"
#include "protocol/http/acl/acl_render.hpp"
#include "protocol/http/render.hpp"
#include "protocol/http/tokens.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>

namespace belay::fuzz {

using actors::http_reader;
using outcome = http_reader::outcome;

const http::route_settings& http_settings() {
  static const http::route_settings s = [] {
    http::route_settings made;
    made.node_name = "n1";
    made.kv_max_value_size = 512;
    made.txn_max_req_len = 4096;
    made.block_endpoints = {"/v1/agent/self"};
    made.allow_write_http_from = {"127.0.0.0/8", "fd00::/8"};
    made.acl_enabled = true;
    return made;
  }();
  return s;
}

namespace {

const actors::http_reader_rules& rules() {
  static const actors::http_reader_rules r = [] {
    actors::http_reader_rules all;
    all.header_bytes_max = http_header_max;
    all.body_limit = [](std::string_view method, std::string_view target) {
      // As in the gateway; its result is too large to be of use here.
      (void)http::body_limit_of(method, target, http_settings());
      return http::body_limit{method == "GET" ? std::size_t{100} : http_body_max};
    };
    return all;
  }();
  return r;
}

/// A line break or control byte of the request in the head would let a client forge headers.
bool head_is_sound(const std::string& bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string::npos)
    return false;
  for (std::size_t i = 0; i < end; ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (c == '\r' ? bytes[i + 1] != '\n' : c == '\n' ? bytes[i - 1] != '\r' : c < 0x20)
      return false;
  }
  return true;
}

std::string serialized(const http::response& r) {
  std::string bytes;
  http::serialize(r, "Sat, 21 Nov 2026 10:00:00 GMT", true, false, {}, bytes);
  return bytes;
}

bool is_json(std::string_view text) {
  boost::json::error_code wrong;
  (void)boost::json::parse({text.data(), text.size()}, wrong);
  return !wrong;
}

void check_auth_context(const std::optional<state::auth_context>& by) {
  HOLDS(!by || !by->secret.empty());
  HOLDS(!by || by->secret.size() <= http::token_bytes_max);
}

void check_action(const http::read_request& read) {
  check_auth_context(read.query.by);
  HOLDS(read.wait.count() > 0 || read.min_index == 0); // a read that blocks has a wait
  HOLDS(read.wait <= http_settings().max_query_time);
}

void check_action(const http::write_request& write) {
  check_auth_context(write.command.by);
  if (const auto* kv = std::get_if<state::kv_write>(&write.command)) {
    HOLDS(!kv->op.key.empty() || kv->op.verb == state::kv_verb::remove_tree);
    HOLDS(!kv->op.value || kv->op.value->size() <= http_settings().kv_max_value_size);
  } else if (const auto* txn = std::get_if<state::txn>(&write.command)) {
    HOLDS(!txn->ops.empty());
    HOLDS(txn->ops.size() <= 64);
  } else if (const auto* made = std::get_if<state::session_create>(&write.command)) {
    HOLDS(made->session.ttl_ns >= 0);
    HOLDS(!made->session.node.empty());
  } else if (const auto* token = std::get_if<state::acl_token_set>(&write.command)) {
    HOLDS(!token->fresh || (!token->token.accessor.empty() && !token->token.secret.empty()));
    HOLDS(!token->fresh || (token->lives_ns >= 0 && token->lives_ns <= 86'400'000'000'000));
  } else if (const auto* registered = std::get_if<state::catalog_register>(&write.command)) {
    // Definitions and mesh settings are copied into responses unchanged.
    for (const auto& c : registered->checks)
      HOLDS(is_json(c.definition_json));
    if (registered->service && !registered->service->proxy_json.empty())
      HOLDS(is_json(registered->service->proxy_json));
  }
}

void check_action(const http::response& answer) {
  HOLDS(answer.status >= 200);
  HOLDS(head_is_sound(serialized(answer)));
}

void check_action(const http::session_renew&) {}
void check_action(const http::session_renew_list& list) {
  HOLDS(!list.ids.empty());
  HOLDS(list.ids.size() <= 4096);
}
void check_action(const http::change_stream&) {}
void check_action(const http::snapshot_save&) {}
void check_action(const http::snapshot_restore&) {}
void check_action(const http::local_request& r) {
  if (r.kind == http::local_kind::translate_rules)
    check_action(http::render_translation(r));
}
void check_action(const http::agent_request&) {}

/// Everything that a gateway would get from a stream.
struct found {
  std::vector<std::string> requests;
  outcome end = outcome::more; ///< of the last request, which is incomplete
  bool in_request = false;
  std::size_t kept_max = 0; ///< bytes that had to be passed again
};

std::string described(const http_reader& r) {
  const auto& q = r.request();
  std::string s = std::string(q.method) + " " + std::string(q.target) + "\n";
  for (const auto& [name, value] : q.headers)
    s += std::string(name) + ": " + std::string(value) + "\n";
  return s + (r.keep_alive() ? "keep" : "close") + (r.old_version() ? " old\n" : "\n") + std::string(q.body);
}

/// Reads the stream in pieces that end at `cuts` (rising). `route` is called with each request.
template <class Route>
found read_requests(std::string_view stream, const std::vector<std::size_t>& cuts, Route route) {
  found f;
  http_reader reader(rules());
  std::string waiting;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const auto to = i < cuts.size() ? cuts[i] : stream.size();
    waiting.append(stream.substr(from, to - from));
    from = to;
    for (;;) {
      std::size_t used = 0;
      f.end = reader.read(waiting, used);
      HOLDS(used <= waiting.size());
      waiting.erase(0, used);
      if (f.end != outcome::complete)
        break;
      HOLDS(reader.request().body.size() <= http_body_max);
      f.requests.push_back(described(reader));
      route(reader.request());
      reader.reset();
    }
    if (f.end == outcome::body_too_large)
      check_action(http::body_too_large(reader.request().target, reader.declared_length(), http_settings()));
    if (f.end != outcome::more)
      return f;
    f.kept_max = std::max(f.kept_max, waiting.size());
  }
  f.in_request = reader.in_request();
  return f;
}

outcome kind(outcome v) {
  return v == outcome::header_too_large ? outcome::bad_request : v;
}

/// `a` was read in one piece. A stream that breaks off may be rejected in one piece and only be
/// incomplete in many. A line that is both too long and wrong is rejected for what is noticed
/// first. The requests never differ.
void check_same(const found& a, const found& b) {
  HOLDS(a.requests == b.requests);
  if (a.end != outcome::more && b.end != outcome::more)
    HOLDS(kind(a.end) == kind(b.end));
  else
    HOLDS((a.end != outcome::more || a.in_request) == (b.end != outcome::more || b.in_request));
  HOLDS(b.kept_max <= http_header_max);
}

std::vector<std::size_t> some_cuts(std::size_t size, seeded_random& random) {
  std::vector<std::size_t> cuts(random.below(8));
  for (auto& c : cuts)
    c = random.below(size + 1);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<std::size_t> every_byte(std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < size; ++i)
    cuts.push_back(i);
  return cuts;
}

void count(http_findings& f, const http::parsed_request& p) {
  static_assert(std::variant_size_v<http::action> == std::tuple_size_v<decltype(f.actions)>);
  ++f.actions[p.action.index()];
}

void fuzz_stream(std::string_view bytes, http_findings& f) {
  const auto whole = read_requests(bytes, {}, [&f](http::raw_request r) {
    r.remote_address = "127.0.0.1";
    count(f, check_routed(r));
  });
  f.requests = whole.requests.size();
  f.refused = whole.end != outcome::more;
  const auto again = [](const http::raw_request&) {};
  check_same(whole, read_requests(bytes, every_byte(bytes.size()), again));
  seeded_random random(crc32c(bytes));
  for (int i = 0; i < 4; ++i)
    check_same(whole, read_requests(bytes, some_cuts(bytes.size(), random), again));
}

} // namespace

http::parsed_request check_routed(const http::raw_request& request) {
  const auto parse = [&request] {
    return http::parse(request, http_settings(), [] { return std::string("5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"); });
  };
  auto first = parse();
  const auto again = parse();
  HOLDS(first.action.index() == again.action.index());
  HOLDS(first.route == again.route);
  if (const auto* answer = std::get_if<http::response>(&first.action))
    HOLDS(serialized(*answer) == serialized(std::get<http::response>(again.action)));
  std::visit([](const auto& a) { check_action(a); }, first.action);
  return first;
}

http_findings fuzz_http(std::string_view bytes) {
  http_findings f;
  fuzz_stream(bytes, f);
  if (http::raw_request r; parse_written_down(bytes, r))
    count(f, check_routed(r));
  return f;
}

} // namespace belay::fuzz
