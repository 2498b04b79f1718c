#include "sim/clients/http_messages.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/base64.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>

namespace belay::sim {

using state::kv_verb;
namespace json = boost::json;

namespace {

// ---- requests

std::string request(std::string_view method, const std::string& target, std::string_view body = {}) {
  std::string text;
  text.reserve(128 + target.size() + body.size());
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1:8500\r\n");
  if (method != "GET")
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append("\r\n").append(body);
}

std::string request_of(const state::kv_op& op) {
  const auto target = "/v1/kv/" + op.key;
  switch (op.verb) {
  case kv_verb::remove:
    return request("DELETE", target);
  case kv_verb::remove_cas:
    return request("DELETE", target + "?cas=" + to_string(op.index));
  case kv_verb::remove_tree:
    return request("DELETE", target + "?recurse");
  default:
    break;
  }
  if (op.verb == kv_verb::add) {
    auto sum = "?add=" + std::to_string(op.amount);
    if (op.min)
      sum += "&min=" + std::to_string(*op.min);
    if (op.max)
      sum += "&max=" + std::to_string(*op.max);
    return request("PUT", target + sum);
  }
  auto query = "?flags=" + std::to_string(op.flags);
  if (op.verb == kv_verb::cas)
    query += "&cas=" + to_string(op.index);
  else if (op.verb == kv_verb::lock)
    query += "&acquire=" + op.session;
  else if (op.verb == kv_verb::unlock)
    query += "&release=" + op.session;
  return request("PUT", target + query, op.value == nullptr ? std::string_view() : std::string_view(*op.value));
}

std::string request_of(const state::kv_write& w) {
  return request_of(w.op);
}

/// Adds a parameter to the query of a request.
std::string with_parameter(std::string text, const std::string& parameter) {
  const auto at = text.find(" HTTP/1.1");
  const bool first = text.substr(0, at).find('?') == std::string::npos;
  return text.insert(at, (first ? "?" : "&") + parameter);
}

std::string named(const state::resource_name& of) {
  return std::string(name_of(of.space)) + "=" + of.name;
}

// ---- claims (docs/reference/claims.md)

std::string request_of(const state::fenced_write& w) {
  return with_parameter(request_of(w.op), "fence=" + std::to_string(w.fence.fence) + "&" + named(w.fence.of));
}

std::string request_of(const state::kv_acquire& a) {
  auto text = request_of(a.op);
  if (a.fence)
    text = with_parameter(std::move(text), "fence=" + std::to_string(a.fence->fence) + "&" + named(a.fence->of));
  return a.refuse_deadlock ? with_parameter(std::move(text), "deadlock=refuse") : text;
}

std::string request_of(const state::claim_ask& c) {
  auto query = "?session=" + c.session + "&id=" + c.id;
  const auto add = [&](const char* name, const auto& value) {
    if (value)
      query += std::string("&") + name + "=" + std::to_string(*value);
  };
  if (c.kind)
    query += "&kind=" + std::string(name_of(*c.kind));
  if (c.mode)
    query += "&mode=" + std::string(name_of(*c.mode));
  add("permits", c.permits);
  add("limit", c.limit);
  if (c.priority != 0)
    query += "&priority=" + std::to_string(c.priority);
  if (c.deadline_ms != 0)
    query += "&deadline=" + std::to_string(c.deadline_ms) + "ms";
  if (c.refuse_deadlock)
    query += "&deadlock=refuse";
  return request("PUT", "/v1/claim/" + c.name + query, *c.value);
}

json::object object_of(const state::kv_op& op) {
  json::object kv;
  kv["Verb"] = name_of(op.verb);
  kv["Key"] = op.key;
  kv["Value"] = go_compat::base64(op.value == nullptr ? std::string_view() : std::string_view(*op.value));
  kv["Flags"] = op.flags;
  kv["Index"] = op.index.value;
  kv["Session"] = op.session;
  if (op.verb == kv_verb::add) {
    kv["Add"] = op.amount;
    if (op.min)
      kv["Min"] = *op.min;
    if (op.max)
      kv["Max"] = *op.max;
  }
  return kv;
}

// JSON of a transaction's operations. Rows of the catalog have only the fields that catalog_client
// sets.

json::object element_of(const state::kv_op& op) {
  return {{"KV", object_of(op)}};
}
json::object element_of(const state::node_op& op) {
  const auto& n = op.node;
  return {{"Node",
           {{"Verb", name_of(op.verb)},
            {"Node", {{"Node", n.node}, {"Address", n.address}, {"ModifyIndex", n.modify_index.value}}}}}};
}
json::object element_of(const state::service_op& op) {
  const auto& s = op.service;
  return {
      {"Service",
       {{"Verb", name_of(op.verb)},
        {"Node", s.node},
        {"Service", {{"ID", s.id}, {"Service", s.service}, {"Port", s.port}, {"ModifyIndex", s.modify_index.value}}}}}};
}
json::object element_of(const state::check_op& op) {
  const auto& c = op.check;
  return {{"Check",
           {{"Verb", name_of(op.verb)},
            {"Check",
             {{"Node", c.node},
              {"CheckID", c.check_id},
              {"Name", c.name},
              {"Status", c.status},
              {"Output", c.output},
              {"ServiceID", c.service_id},
              {"ModifyIndex", c.modify_index.value}}}}}};
}

json::object element_of(const state::fence_op& op) {
  const auto& of = op.fence.of;
  return {{"KV",
           {{"Verb", "check-fence"},
            {of.space == state::claim_space::keys ? "Lock" : "Claim", of.name},
            {"Fence", op.fence.fence}}}};
}

std::string request_of(const state::txn& t) {
  json::array list;
  for (const auto& op : t.ops)
    list.push_back(std::visit([](const auto& each) { return element_of(each); }, op));
  return request("PUT", "/v1/txn", json::serialize(list));
}

json::array array_of(const std::vector<std::string>& texts) {
  json::array list;
  for (const auto& t : texts)
    list.emplace_back(t);
  return list;
}

json::object body_of(const state::session_record& s) {
  json::object body;
  body["Node"] = s.node;
  body["TTL"] = s.ttl;
  body["LockDelay"] = std::to_string(s.lock_delay_ns / 1'000'000) + "ms";
  body["Behavior"] = name_of(s.behavior);
  if (s.node_checks)
    body["NodeChecks"] = array_of(*s.node_checks);
  return body;
}

std::string request_of(const state::session_create& c) {
  return request("PUT", "/v1/session/create", json::serialize(body_of(c.session)));
}

std::string request_of(const state::session_begin& c) {
  auto body = body_of(c.session);
  body["TTLMode"] = name_of(c.ttl_mode);
  json::array left;
  for (const auto& op : c.on_end)
    left.push_back(object_of(op));
  body["OnEnd"] = std::move(left);
  return request("PUT", "/v1/session/create", json::serialize(body));
}

std::string request_of(const state::catalog_register& c) {
  json::object body;
  body["Node"] = c.node.node;
  body["Address"] = c.node.address;
  json::array checks;
  for (const auto& check : c.checks)
    checks.push_back(json::object{{"Node", check.node},
                                  {"CheckID", check.check_id},
                                  {"Name", check.name},
                                  {"Status", check.status},
                                  {"Output", check.output}});
  body["Checks"] = std::move(checks);
  return request("PUT", "/v1/catalog/register", json::serialize(body));
}

std::string request_of(const state::catalog_deregister& c) {
  json::object body;
  body["Node"] = c.node;
  if (!c.check_id.empty())
    body["CheckID"] = c.check_id;
  return request("PUT", "/v1/catalog/deregister", json::serialize(body));
}

json::array array_of(const std::vector<state::acl_link>& links) {
  json::array list;
  for (const auto& l : links)
    list.push_back(l.id.empty() ? json::object{{"Name", l.name}} : json::object{{"ID", l.id}});
  return list;
}

std::string request_of(const state::acl_policy_set& c) {
  json::object body{{"Name", c.policy.name}, {"Description", c.policy.description}, {"Rules", c.policy.rules}};
  return request("PUT", c.fresh ? "/v1/acl/policy" : "/v1/acl/policy/" + c.policy.id, json::serialize(body));
}

std::string request_of(const state::acl_role_set& c) {
  json::object body{{"Name", c.role.name}, {"Description", c.role.description}, {"Policies", array_of(c.policies)}};
  return request("PUT", c.fresh ? "/v1/acl/role" : "/v1/acl/role/" + c.role.id, json::serialize(body));
}

std::string request_of(const state::acl_token_set& c) {
  const auto& t = c.token;
  json::object body{{"AccessorID", t.accessor},
                    {"Description", t.description},
                    {"Policies", array_of(c.policies)},
                    {"Roles", array_of(c.roles)}};
  if (!t.secret.empty())
    body["SecretID"] = t.secret;
  if (c.lives_ns != 0)
    body["ExpirationTTL"] = std::to_string(c.lives_ns / 1'000'000) + "ms";
  return request("PUT", c.fresh ? "/v1/acl/token" : "/v1/acl/token/" + t.accessor, json::serialize(body));
}

std::string request_of(const state::command& c) {
  return std::visit(
      overloaded{
          [](const state::session_destroy& d) { return request("PUT", "/v1/session/destroy/" + d.ids.front()); },
          [](const state::kv_write& w) { return request_of(w); },
          [](const state::txn& t) { return request_of(t); },
          [](const state::session_create& s) { return request_of(s); },
          [](const state::catalog_register& r) { return request_of(r); },
          [](const state::catalog_deregister& d) { return request_of(d); },
          [](const state::acl_policy_set& p) { return request_of(p); },
          [](const state::acl_policy_delete& d) { return request("DELETE", "/v1/acl/policy/" + d.id); },
          [](const state::acl_role_set& r) { return request_of(r); },
          [](const state::acl_role_delete& d) { return request("DELETE", "/v1/acl/role/" + d.id); },
          [](const state::acl_token_set& t) { return request_of(t); },
          [](const state::acl_token_delete& d) { return request("DELETE", "/v1/acl/token/" + d.accessor); },
          [](const state::fenced_write& w) { return request_of(w); },
          [](const state::fenced_txn& t) { return request_of(t.body); },
          [](const state::session_begin& s) { return request_of(s); },
          [](const state::kv_acquire& a) { return request_of(a); },
          [](const state::claim_ask& a) { return request_of(a); },
          [](const state::claim_release& r) { return request("DELETE", "/v1/claim/" + r.name + "?id=" + r.id); },
          [](const state::claim_transfer& h) {
            return request("PUT", "/v1/claim/" + h.name + "/transfer?id=" + h.id + (h.to.empty() ? "" : "&to=" + h.to));
          },
          [](const state::claim_mode_set& m) {
            return request("PUT", "/v1/claim/" + m.name + "/mode?id=" + m.id + "&mode=" + std::string(name_of(m.mode)));
          },
          [](const state::claim_limit_set& l) {
            return request("PUT", "/v1/claim/" + l.name + "/limit?n=" + std::to_string(l.limit));
          },
          [](const state::claim_limit_unset& l) { return request("DELETE", "/v1/claim/" + l.name + "/limit"); },
          [](const state::guard_set& g) { return request("PUT", "/v1/guard/" + g.prefix + "?" + named(g.by)); },
          [](const state::guard_remove& g) {
            return request("DELETE", "/v1/guard/" + g.prefix + "?fence=" + std::to_string(g.fence));
          },
          [](const state::outcome_seal& s) { return request("PUT", "/v1/outcome/" + s.key + "/cancel"); },
          [](const auto&) { return std::string(); },
      },
      static_cast<const state::plain_command&>(c));
}

std::string duration_text(std::chrono::nanoseconds t) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(t).count()) + "ms";
}

std::string request_of(const http::read_request& r) {
  constexpr const char* modes[] = {"", "consistent&", "stale&"};
  std::string query = std::string("?") + modes[static_cast<std::size_t>(r.mode)];
  if (r.min_index > 0)
    query += "index=" + std::to_string(r.min_index) + "&wait=" + duration_text(r.wait) + "&";
  const auto target = std::visit(overloaded{
                                     [&](const state::kv_get& q) { return "/v1/kv/" + q.key + query; },
                                     [&](const state::kv_list& q) { return "/v1/kv/" + q.prefix + query + "recurse"; },
                                     [&](const state::session_info& q) { return "/v1/session/info/" + q.id + query; },
                                     [&](const state::claim_read& q) {
                                       return q.of.space == state::claim_space::claims
                                                  ? "/v1/claim/" + q.of.name + query
                                                  : "/v1/kv/" + q.of.name + query + "claims";
                                     },
                                     [&](const state::guards_list&) { return "/v1/guards" + query; },
                                     [&](const state::session_ended& q) { return "/v1/session/ended/" + q.id + query; },
                                     [](const state::outcome_read& q) { return "/v1/outcome/" + q.key; },
                                     [](const auto&) { return std::string("/v1/other"); },
                                 },
                                 static_cast<const state::plain_query&>(r.query));
  return request("GET", target);
}

// ---- responses

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::uint64_t> number_in(const http_answer& a, std::string_view name) {
  const auto* text = a.header(name);
  std::uint64_t n = 0;
  if (text == nullptr)
    return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), n);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(n) : std::nullopt;
}

/// @returns nullopt: the chunks do not end here
std::optional<std::string> unchunked(std::string_view bytes) {
  std::string body;
  for (;;) {
    const auto line = bytes.find("\r\n");
    std::size_t size = 0;
    if (line == std::string_view::npos)
      return std::nullopt;
    std::from_chars(bytes.data(), bytes.data() + line, size, 16);
    bytes.remove_prefix(line + 2);
    if (bytes.size() < size + 2)
      return std::nullopt;
    if (size == 0)
      return body;
    body += bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
}

const json::value* member(const json::object& o, std::string_view name) {
  const auto it = o.find(name);
  return it == o.end() || it->value().is_null() ? nullptr : &it->value();
}
std::string text_in(const json::object& o, std::string_view name) {
  const auto* v = member(o, name);
  return v == nullptr ? std::string() : std::string(v->as_string().data(), v->as_string().size());
}
std::uint64_t number_in(const json::object& o, std::string_view name) {
  const auto* v = member(o, name);
  return v == nullptr ? 0 : v->to_number<std::uint64_t>();
}

state::kv_entry_ptr entry_in(const json::object& o) {
  state::kv_draft e;
  e.key = text_in(o, "Key");
  auto value = go_compat::decode_base64(text_in(o, "Value"));
  e.value = make_payload(value ? std::move(*value) : std::string("not base64"));
  e.flags = number_in(o, "Flags");
  e.lock_index = number_in(o, "LockIndex");
  e.session = text_in(o, "Session");
  e.create_index = log_index{number_in(o, "CreateIndex")};
  e.modify_index = log_index{number_in(o, "ModifyIndex")};
  return e;
}

state::session_ptr session_in(const json::object& o) {
  auto s = std::make_shared<state::session_record>();
  s->id = text_in(o, "ID");
  s->node = text_in(o, "Node");
  s->ttl = text_in(o, "TTL");
  s->create_index = log_index{number_in(o, "CreateIndex")};
  return s;
}

void indexes_in(const json::object& o, auto& row) {
  row.create_index = log_index{number_in(o, "CreateIndex")};
  row.modify_index = log_index{number_in(o, "ModifyIndex")};
}

state::node_ptr node_in(const json::object& o) {
  auto n = std::make_shared<state::node_record>();
  n->node = text_in(o, "Node");
  n->address = text_in(o, "Address");
  indexes_in(o, *n);
  return n;
}

state::service_ptr service_in(const json::object& o) {
  auto s = std::make_shared<state::service_record>();
  s->id = text_in(o, "ID");
  s->service = text_in(o, "Service");
  s->port = static_cast<std::int64_t>(number_in(o, "Port"));
  indexes_in(o, *s);
  return s;
}

state::check_ptr check_in(const json::object& o) {
  auto c = std::make_shared<state::check_record>();
  c->node = text_in(o, "Node");
  c->check_id = text_in(o, "CheckID");
  c->name = text_in(o, "Name");
  c->status = text_in(o, "Status");
  c->output = text_in(o, "Output");
  c->service_id = text_in(o, "ServiceID");
  c->service_name = text_in(o, "ServiceName");
  indexes_in(o, *c);
  return c;
}

/// Only reads show values, and clients here do not read in transactions.
state::txn_reply txn_in(const json::object& o) {
  state::txn_reply r;
  if (const auto* errors = member(o, "Errors"))
    for (const auto& e : errors->as_array())
      r.errors.push_back({number_in(e.as_object(), "OpIndex"), text_in(e.as_object(), "What")});
  if (const auto* results = member(o, "Results"))
    for (const auto& each : results->as_array()) {
      const auto& o = each.as_object();
      if (const auto* kv = member(o, "KV")) {
        const auto* value = kv->as_object().if_contains("Value");
        r.results.push_back(
            {entry_in(kv->as_object()), value != nullptr && !value->is_null()}); // only an add returns a value
      } else if (const auto* node = member(o, "Node"))
        r.results.push_back({node_in(node->as_object()), true});
      else if (const auto* service = member(o, "Service"))
        r.results.push_back({service_in(service->as_object()), true});
      else if (const auto* check = member(o, "Check"))
        r.results.push_back({check_in(check->as_object()), true});
    }
  return r;
}

state::lock_note note_in(const http_answer& a) {
  state::lock_note n;
  if (const auto* why = a.header("X-Belay-Reason"))
    n.why = state::named<state::refused_for>(*why).value_or(state::refused_for::nothing);
  if (const auto* holder = a.header("X-Belay-Holder"))
    n.holder = *holder;
  n.retry_after_ms = number_in(a, "X-Belay-Retry-After-Ms").value_or(0);
  n.fence = number_in(a, "X-Belay-Fence").value_or(0);
  return n;
}

std::string described(const http_answer& a) {
  constexpr std::size_t shown_max = 200;
  return "status " + std::to_string(a.status) + ", \"" + a.body.substr(0, shown_max) + '"';
}

/// Only if ACLs are in force.
bool is_forbidden(const http_answer& a, const operation& o) {
  return a.status == 403 && asker_of(o);
}

/// Whether its response has the form of claims.
bool is_of_claims(const state::command& c) {
  return std::visit(overloaded{
                        [](const state::claim_ask&) { return true; },
                        [](const state::claim_release&) { return true; },
                        [](const state::claim_transfer&) { return true; },
                        [](const state::claim_mode_set&) { return true; },
                        [](const state::claim_limit_set&) { return true; },
                        [](const state::claim_limit_unset&) { return true; },
                        [](const state::guard_set&) { return true; },
                        [](const state::guard_remove&) { return true; },
                        [](const state::kv_acquire&) { return true; },
                        [](const state::fenced_write&) { return true; },
                        [](const auto&) { return false; },
                    },
                    static_cast<const state::plain_command&>(c));
}

/// Whether servers of older versions do not support it.
bool needs_level(const state::command& c) {
  return c.once || std::holds_alternative<state::outcome_seal>(c) || is_of_claims(c) ||
         std::holds_alternative<state::session_begin>(c) || std::holds_alternative<state::fenced_txn>(c);
}

/// Maps a reason to its enumerator. Responses have the new name of a renamed reason.
template <state::named_enum Enum>
std::optional<Enum> reason_in(std::string_view text) {
  for (const auto each : state::names_of<Enum>)
    if (present_value(each) == text)
      return state::named<Enum>(each);
  return std::nullopt;
}

/// docs/reference/http-extensions.md, "Refusals".
broken understand_claim_refusal(const http_answer& a, operation& o) {
  state::claim_refusal no;
  no.text = a.body;
  const auto* reason = a.header("X-Belay-Reason");
  const auto why = reason == nullptr ? std::nullopt : state::named<state::claim_error>(*reason);
  const auto end = reason == nullptr ? std::nullopt : reason_in<state::claim_end>(*reason);
  const bool known_kind = why && *why == state::claim_error::limit && a.status != 410; // an end has the same name
  if (why && (known_kind || !end)) {
    no.why = *why;
  } else if (end) {
    no.why = state::claim_error::ended;
    no.ended = end;
  } else {
    no.why = state::claim_error::unknown_claim;
  }
  const bool by_session = no.ended == state::claim_end::session && a.status == 404;
  const bool lost_wait = std::holds_alternative<state::kv_acquire>(*o.write) && no.ended && a.status == 200;
  if (a.status != status_of(no.why) && !by_session && !lost_wait)
    return "a refusal of a claim was answered " + described(a);
  o.reply = std::move(no);
  return std::nullopt;
}

state::claim_answer claim_in(const json::object& body) {
  state::claim_answer c;
  c.id = text_in(body, "ID");
  c.session = text_in(body, "Session");
  c.state = state::named<state::claim_state>(text_in(body, "State")).value_or(state::claim_state::waiting);
  c.fence = number_in(body, "Fence");
  c.position = number_in(body, "Position");
  c.index = log_index{number_in(body, "Index")};
  if (const auto* ahead = member(body, "Ahead"))
    for (const auto& each : ahead->as_array()) {
      const auto& one = each.as_object();
      c.ahead.push_back(
          {text_in(one, "ID"), text_in(one, "Session"),
           state::named<state::claim_state>(text_in(one, "State")).value_or(state::claim_state::waiting)});
    }
  return c;
}

/// The resource of the claim in a response: the body does not name it.
state::resource_name resource_of(const state::command& c) {
  return std::visit(overloaded{
                        [](const state::claim_ask& a) { return state::resource_name{a.name}; },
                        [](const state::claim_transfer& h) { return state::resource_name{h.name}; },
                        [](const state::claim_mode_set& m) { return state::resource_name{m.name}; },
                        [](const auto&) { return state::resource_name{}; },
                    },
                    static_cast<const state::plain_command&>(c));
}

/// @pre the answer was decided: it is not one of a lost connection or a missing leader
broken understand_claim(const http_answer& a, operation& o) {
  if (a.status == 500 && o.lock_wait > virtual_time::zero()) { // queued; what became of it is unknown here
    o.result = outcome::unknown;
    o.index = {};
    o.text = a.body;
    return std::nullopt;
  }
  if (a.status == 500 || is_forbidden(a, o)) {
    o.reply = state::refusal{a.body};
    return std::nullopt;
  }
  const auto* reason = a.header("X-Belay-Reason");
  if (a.status != 200 || (reason != nullptr && reason_in<state::claim_end>(*reason)))
    return understand_claim_refusal(a, o);
  const auto body = json::parse(a.body);
  if (body.is_bool()) {
    o.reply = body.as_bool();
    o.reply.note = note_in(a);
    return std::nullopt;
  }
  auto claim = claim_in(body.as_object());
  claim.of = resource_of(*o.write);
  o.reply = std::move(claim);
  return std::nullopt;
}

// ---- exactly once (docs/reference/exactly-once.md)

std::optional<state::once_refusal> once_refusal_in(const http_answer& a) {
  const auto* reason = a.header("X-Belay-Reason");
  const auto why = reason == nullptr ? std::nullopt : reason_in<state::once_error>(*reason);
  return why && status_of(*why) == a.status ? std::optional(state::once_refusal{*why, {}}) : std::nullopt;
}

/// Reads the reply by its shape alone, because it is unknown here what was written.
state::reply reply_in(std::uint64_t status, const std::string& text) {
  if (status == 500 || status == 403)
    return state::refusal{text};
  const auto body = json::parse(text);
  if (body.is_bool())
    return body.as_bool();
  if (const auto* value = member(body.as_object(), "Value"))
    return state::kv_added{value->to_number<std::int64_t>()};
  return txn_in(body.as_object());
}

/// The stored response, or none if cancelled.
state::reply outcome_in(const json::object& o) {
  state::reply r;
  if (text_in(o, "State") == "done") {
    r = reply_in(number_in(o, "Status"), text_in(o, "Body"));
    r.note.why = state::named<state::refused_for>(text_in(o, "Reason")).value_or(state::refused_for::nothing);
  }
  r.decided_at = log_index{number_in(o, "Index")};
  return r;
}

state::outcome_ptr outcome_row_in(const json::object& o) {
  auto row = std::make_shared<state::outcome_record>();
  auto decoded = outcome_in(o);
  row->index = std::exchange(decoded.decided_at, {});
  if (text_in(o, "State") == "done")
    row->answer = std::make_shared<const state::reply>(std::move(decoded));
  return row;
}

/// Only what kv_model checks: the accessor of a token.
state::acl_row access_row_in(const json::object& o) {
  if (!o.contains("AccessorID"))
    return {};
  auto token = std::make_shared<state::acl_token>();
  token->accessor = text_in(o, "AccessorID");
  return {std::move(token), {}, {}};
}

/// Parses the response to a write into `o`, and compares it with what the gateway received for that
/// request. @returns what is wrong with the response, if anything
broken understand_write(const http_answer& a, const std::optional<write_decision>& decided, operation& o) {
  if (!decided || decided->outcome != forward::call_outcome::done) {
    o.result = decided && decided->outcome == forward::call_outcome::refused ? outcome::refused : outcome::unknown;
    o.text = a.body;
    // Until all members have sent their levels, one of them may be too old.
    const bool too_old = o.result == outcome::refused && a.status == 409 && needs_level(*o.write);
    return a.status == 500 || too_old ? broken() : "without a decision it was answered " + described(a);
  }
  o.result = outcome::done;
  o.index = decided->index;
  if (const auto no = once_refusal_in(a)) {
    o.reply = *no;
    return std::nullopt;
  }
  if (std::holds_alternative<state::outcome_seal>(*o.write) && a.status == 200) {
    o.reply = outcome_in(json::parse(a.body).as_object());
    return std::nullopt;
  }
  if (is_of_claims(*o.write))
    return understand_claim(a, o);
  // A write guard of a prefix covers the key.
  if (const auto* reason = a.header("X-Belay-Reason");
      reason != nullptr && *reason == "guarded" && std::holds_alternative<state::kv_write>(*o.write))
    return understand_claim_refusal(a, o);
  if (a.status == 500 || is_forbidden(a, o)) {
    o.reply = state::refusal{a.body};
  } else if (a.status != 200 && a.status != 409) {
    return "a write was answered " + described(a);
  } else {
    const auto body = json::parse(a.body);
    if (body.is_bool())
      o.reply = body.as_bool();
    else if (std::holds_alternative<state::txn>(*o.write) || std::holds_alternative<state::fenced_txn>(*o.write))
      o.reply = txn_in(body.as_object());
    else if (const auto* value = member(body.as_object(), "Value"))
      o.reply = state::kv_added{value->to_number<std::int64_t>()};
    else if (body.as_object().contains("ModifyIndex"))
      o.reply = access_row_in(body.as_object());
    else
      o.reply = text_in(body.as_object(), "ID");
  }
  const auto* txn = std::get_if<state::txn_reply>(&o.reply);
  if (txn != nullptr && (a.status == 409) == txn->errors.empty())
    return "a transaction was answered " + described(a);
  o.reply.note = note_in(a);
  const auto decoded = number_in(a, "X-Belay-Index");
  if (a.header("X-Belay-Replayed") != nullptr) {
    o.reply.decided_at = log_index{decoded.value_or(UINT64_MAX)}; // absent for a rejection
    return std::nullopt;
  }
  if (decoded && *decoded != decided->index.value)
    return "a write of entry " + to_string(decided->index) + " was answered with entry " + std::to_string(*decoded);
  return std::nullopt;
}

state::resource_name resource_in(const json::object& o) {
  const auto claim = text_in(o, "Claim");
  return claim.empty() ? state::resource_name{text_in(o, "Lock"), state::claim_space::keys}
                       : state::resource_name{claim, state::claim_space::claims};
}

std::vector<state::claim_row> claim_rows_in(const json::object& body, std::string_view name) {
  std::vector<state::claim_row> rows;
  for (const auto& each : body.at(name).as_array()) {
    const auto& o = each.as_object();
    auto c = std::make_shared<state::claim_record>();
    c->id = text_in(o, "ID");
    c->session = text_in(o, "Session");
    c->mode = state::named<state::claim_mode>(text_in(o, "Mode")).value_or(state::claim_mode::exclusive);
    c->permits = number_in(o, "Permits");
    c->fence = number_in(o, "Fence");
    if (auto value = go_compat::decode_base64(text_in(o, "Value")))
      c->value = make_payload(std::move(*value));
    rows.push_back({std::move(c), {}, number_in(o, "Position")});
  }
  return rows;
}

state::claim_view claim_view_in(const json::object& o) {
  state::claim_view v;
  v.known = true;
  v.kind = state::named<state::claim_kind>(text_in(o, "Kind")).value_or(state::claim_kind::lock);
  v.limit = number_in(o, "Limit");
  v.pinned = member(o, "LimitFixed") != nullptr && member(o, "LimitFixed")->as_bool();
  v.holders = claim_rows_in(o, "Holders");
  v.holder_count = number_in(o, "HolderCount");
  v.queue = claim_rows_in(o, "Queue");
  v.queue_length = number_in(o, "QueueLength");
  for (const auto& each : o.at("Delays").as_array()) {
    state::claim_ghost g;
    g.fence = number_in(each.as_object(), "Fence");
    g.session = text_in(each.as_object(), "Session");
    g.permits = number_in(each.as_object(), "Permits");
    v.delays.push_back(std::move(g));
  }
  return v;
}

state::ended_session_ptr ended_session_in(const json::object& o) {
  auto s = std::make_shared<state::ended_session>();
  s->id = text_in(o, "ID");
  s->cause = text_in(o, "Cause");
  s->index = log_index{number_in(o, "Index")};
  for (const auto& each : o.at("Released").as_array())
    s->released.push_back(resource_in(each.as_object()));
  s->released_count = number_in(o, "ReleasedCount");
  s->on_end_done = number_in(o, "OnEndDone");
  s->on_end_refused = number_in(o, "OnEndRefused");
  return s;
}

/// @param body nullptr: 404
void understand_claims(const state::query& q, const json::value* body, state::query_result& answer) {
  if (std::holds_alternative<state::claim_read>(q)) {
    answer.data = body == nullptr ? state::claim_view{} : claim_view_in(body->as_object());
  } else if (std::holds_alternative<state::session_ended>(q)) {
    state::ended_session_rows found;
    if (body != nullptr)
      found.list.push_back(ended_session_in(body->as_object()));
    answer.data = std::move(found);
  } else {
    state::guard_rows found;
    for (const auto& each : body->as_array())
      found.list.push_back({text_in(each.as_object(), "Prefix"),
                            resource_in(each.as_object()),
                            log_index{number_in(each.as_object(), "CreateIndex")},
                            {}});
    answer.data = std::move(found);
  }
}

/// Parses the response to a read into `o`. @returns what is wrong with the response, if anything
broken understand_read(const http_answer& a, operation& o) {
  if (a.status == 500) {
    o.result = outcome::refused;
    o.text = a.body;
    return std::nullopt;
  }
  if (is_forbidden(a, o)) {
    o.result = outcome::done;
    o.answer = state::query_result{{}, state::refusal{a.body}};
    return std::nullopt;
  }
  const auto& q = o.read->query;
  const bool of_claims = std::holds_alternative<state::claim_read>(q) ||
                         std::holds_alternative<state::guards_list>(q) ||
                         std::holds_alternative<state::session_ended>(q);
  const bool of_outcome = std::holds_alternative<state::outcome_read>(q);
  const bool of_keys = !of_claims && !std::holds_alternative<state::session_info>(q);
  const bool may_lack = of_keys || (of_claims && !std::holds_alternative<state::guards_list>(q));
  const auto index = number_in(a, "X-Consul-Index");
  if ((a.status != 200 && !(a.status == 404 && may_lack)) || !index || a.header("X-Consul-Lastcontact") == nullptr ||
      a.header("X-Consul-Knownleader") == nullptr)
    return "a read was answered " + described(a) + (index ? "" : " without an index");
  o.result = outcome::done;
  o.answer.emplace();
  o.answer->index = log_index{*index};
  if (of_claims) {
    const auto body = a.status == 200 ? std::optional(json::parse(a.body)) : std::nullopt;
    understand_claims(q, body ? &*body : nullptr, *o.answer);
    return std::nullopt;
  }
  if (of_outcome) {
    o.answer->data = state::outcome_view{a.status == 200 ? outcome_row_in(json::parse(a.body).as_object()) : nullptr};
    return std::nullopt;
  }
  if (!of_keys) {
    state::sessions found;
    const auto body = json::parse(a.body);
    for (const auto& each : body.as_array())
      found.list.push_back(session_in(each.as_object()));
    o.answer->data = std::move(found);
    return std::nullopt;
  }
  state::kv_entries found;
  if (a.status == 200) {
    const auto body = json::parse(a.body);
    for (const auto& each : body.as_array())
      found.entries.push_back(entry_in(each.as_object()));
    if (found.entries.empty())
      return std::string("a read of keys was answered 200 with no key");
  }
  o.answer->data = std::move(found);
  return std::nullopt;
}

std::string request_of(const session_renewal& r) {
  if (r.beside.empty())
    return request("PUT", "/v1/session/renew/" + r.session);
  auto all = array_of(r.beside);
  all.emplace_back(r.session);
  return request("PUT", "/v1/session/renew", json::serialize(all));
}

/// docs/reference/http-extensions.md, "Sessions".
broken understand_renewals(const http_answer& a, operation& o) {
  const auto body = json::parse(a.body);
  const auto& all = body.as_array();
  const auto& requested = *o.renewal;
  if (a.status != 200 || all.size() != requested.beside.size() + 1)
    return "a list of renewals was answered " + described(a);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& one = all[i].as_object();
    const bool last = i == requested.beside.size(), renewed = one.at("Renewed").as_bool();
    if (text_in(one, "ID") != (last ? requested.session : requested.beside[i]))
      return "the renewal of another session was told: " + described(a);
    if (!last && renewed)
      return "a session that never existed is reported as renewed: " + described(a);
    if (!last || !renewed)
      continue;
    auto session = std::make_shared<state::session_record>();
    session->id = requested.session;
    o.renewed = std::move(session);
  }
  return std::nullopt;
}

broken understand_renewal(const http_answer& a, operation& o) {
  const bool refused = a.status == 500 || is_forbidden(a, o);
  o.result = refused ? outcome::refused : outcome::done;
  if (refused) {
    o.text = a.body;
  } else if (!o.renewal->beside.empty()) {
    return understand_renewals(a, o);
  } else if (a.status == 200) {
    const auto body = json::parse(a.body);
    o.renewed = session_in(body.as_array().at(0).as_object());
    if (o.renewed->id != o.renewal->session)
      return "the renewal of another session was told: " + described(a);
  } else if (a.status != 404 || a.body != "Session id '" + o.renewal->session + "' not found") {
    return "a renewal was answered " + described(a);
  }
  return std::nullopt;
}

} // namespace

namespace {

void as_requested(state::kv_op& op) {
  const bool removes = op.verb == kv_verb::remove || op.verb == kv_verb::remove_cas || op.verb == kv_verb::remove_tree;
  if (removes) {
    op.flags = 0;
    op.value = nullptr;
  }
  if (op.verb == kv_verb::add) {
    op.flags = 0;
    op.value = make_payload({});
  }
  if (op.verb != kv_verb::lock && op.verb != kv_verb::unlock)
    op.session.clear();
}

} // namespace

void as_requested(state::command& c) {
  if (auto* w = std::get_if<state::kv_write>(&c)) {
    as_requested(w->op);
  } else if (auto* f = std::get_if<state::fenced_write>(&c)) {
    as_requested(f->op);
  } else if (auto* r = std::get_if<state::catalog_register>(&c)) {
    r->node.datacenter = "dc1";
  } else if (auto* t = std::get_if<state::txn>(&c)) {
    for (auto& op : t->ops)
      if (auto* n = std::get_if<state::node_op>(&op))
        n->node.datacenter = "dc1";
  }
}

std::string request_of(const operation& o) {
  auto text = o.read ? request_of(*o.read) : o.renewal ? request_of(*o.renewal) : request_of(*o.write);
  if (const auto& who = asker_of(o); who && who->secret != state::anonymous_secret)
    text.insert(text.find("\r\n") + 2, "X-Consul-Token: " + who->secret + "\r\n");
  if (o.write && o.write->once)
    text.insert(text.find("\r\n") + 2, "Idempotency-Key: " + o.write->once->key + "\r\n");
  return o.lock_wait > virtual_time::zero() ? with_parameter(std::move(text), "queue=" + duration_text(o.lock_wait))
                                            : text;
}

std::string wished_id(const operation& o) {
  if (!o.write)
    return {};
  if (const auto* c = std::get_if<state::session_create>(&*o.write))
    return c->session.id;
  if (const auto* s = std::get_if<state::session_begin>(&*o.write))
    return s->session.id;
  if (const auto* p = std::get_if<state::acl_policy_set>(&*o.write))
    return p->fresh ? p->policy.id : std::string();
  const auto* r = std::get_if<state::acl_role_set>(&*o.write);
  return r != nullptr && r->fresh ? r->role.id : std::string();
}

const std::string* http_answer::header(std::string_view name) const {
  for (const auto& [n, value] : headers)
    if (equal_ignoring_case(n, name))
      return &value;
  return nullptr;
}

std::optional<http_answer> whole_answer(std::string_view bytes, bool ended) {
  const auto head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string_view::npos)
    return std::nullopt;
  http_answer a;
  auto head = bytes.substr(0, head_end + 2);
  auto rest = bytes.substr(head_end + 4);
  const auto line_end = head.find("\r\n");
  constexpr std::size_t status_at = 9; // after "HTTP/1.1 "
  std::from_chars(head.data() + status_at, head.data() + line_end, a.status);
  head.remove_prefix(line_end + 2);
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    const auto colon = head.find(": ");
    if (colon < end)
      a.headers.emplace_back(head.substr(0, colon), head.substr(colon + 2, end - colon - 2));
    head.remove_prefix(end + 2);
  }
  if (const auto length = number_in(a, "Content-Length")) {
    if (rest.size() < *length)
      return std::nullopt;
    a.body = rest.substr(0, *length);
  } else if (a.header("Transfer-Encoding") != nullptr) {
    auto body = unchunked(rest);
    if (!body)
      return std::nullopt;
    a.body = std::move(*body);
  } else if (ended) {
    a.body = rest;
  } else {
    return std::nullopt;
  }
  return a;
}

std::optional<write_decision> as_received_from_agent(const http_answer& a,
                                                     const std::optional<write_decision>& decided) {
  if (a.status != 500)
    return decided;
  const auto begins = [&](std::string_view text) { return std::string_view(a.body).starts_with(text); };
  if (begins("rpc error making call: "))
    return write_decision{};
  if (begins("rpc error getting client: ") || begins("No known Consul servers"))
    return write_decision{forward::call_outcome::refused, {}};
  return decided;
}

broken understand(const http_answer& a, const std::optional<write_decision>& decided, operation& o) {
  try {
    return o.write ? understand_write(a, decided, o) : o.read ? understand_read(a, o) : understand_renewal(a, o);
  } catch (const std::exception& e) { // invalid JSON, or of another shape
    return "an answer that cannot be read (" + std::string(e.what()) + "): " + described(a);
  }
}

} // namespace belay::sim
