// /v1/claim/, /v1/claims (docs/reference/claims.md).

#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/http/claims/page_cursor.hpp"
#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

#include <algorithm>
#include <array>

namespace belay::http {

namespace {

constexpr std::string_view transfer = "/transfer", old_transfer = "/hand-over";
constexpr auto actions = std::to_array<std::string_view>({transfer, old_transfer, "/mode", "/limit"});

/// What the path refers to.
struct claim_target {
  std::string name;
  std::string_view action; ///< one of the actions; empty: the claim itself
};

/// Names may end in `/transfer`, as they could before there was that action: a transfer has no
/// session, a claim has one.
bool may_be_transfer(const request_context& c) {
  return c.request.method == "PUT" && c.query.has("id") && !c.query.has("session");
}

/// A name may contain slashes: the end of the path decides.
claim_target target_of(const request_context& c) {
  for (const auto action : actions)
    if (c.argument.size() > action.size() && c.argument.ends_with(action) && (action != transfer || may_be_transfer(c)))
      return {std::string(c.argument.substr(0, c.argument.size() - action.size())), action};
  return {std::string(c.argument), {}};
}

refused refuse_elsewhere(const request_context& c) {
  if (auto r = refuse_namespace(c))
    return r;
  return refuse_datacenter(c);
}

/// Max wait of a claim; absent: unlimited.
refused read_deadline(const request_context& c, std::uint64_t& out_ms) {
  if (!c.query.has("deadline"))
    return std::nullopt;
  const auto text = c.query.get("deadline");
  const auto length = go_compat::parse_duration(text);
  if (!length)
    return invalid_parameter("deadline", go_compat::duration_complaint(text));
  if (length->count() <= 0)
    return invalid_parameter("deadline", "above zero");
  out_ms = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(*length).count());
  return std::nullopt;
}

refused read_shape(const request_context& c, state::claim_ask& ask) {
  if (auto r = read_named(c, "kind", ask.kind))
    return r;
  if (auto r = read_named(c, "mode", ask.mode))
    return r;
  if (auto r = read_count(c, "permits", ask.permits))
    return r;
  return read_count(c, "limit", ask.limit);
}

refused read_waiting(const request_context& c, state::claim_ask& ask, std::chrono::nanoseconds& wait_time) {
  std::optional<std::uint64_t> priority;
  if (auto r = read_count(c, "priority", priority))
    return r;
  ask.priority = priority.value_or(0);
  if (auto r = read_wait_time(c, "wait", wait_time))
    return r;
  if (auto r = read_deadline(c, ask.deadline_ms))
    return r;
  return read_deadlock(c, ask.refuse_deadlock);
}

action ask_for(request_context& c, std::string name) {
  state::claim_ask ask;
  std::chrono::nanoseconds wait_time{0};
  ask.name = std::move(name);
  ask.session = c.query.get("session");
  ask.id = c.query.get("id");
  if (c.query.has("id") && ask.id.empty())
    return invalid_parameter("id", "missing");
  if (auto r = read_shape(c, ask))
    return std::move(*r);
  if (auto r = read_waiting(c, ask, wait_time))
    return std::move(*r);
  if (c.request.body.size() > state::claim_value_bytes_max)
    return error_response(413, "Value is too large (" + std::to_string(c.request.body.size()) + " > " +
                                   std::to_string(state::claim_value_bytes_max) + " bytes)");
  ask.value = make_payload(c.request.body);
  return write_request{std::move(ask), wait_time};
}

action change_mode(const request_context& c, std::string name, std::string id) {
  std::optional<state::claim_mode> mode;
  if (auto r = read_named(c, "mode", mode))
    return std::move(*r);
  if (!mode)
    return invalid_parameter("mode", "missing");
  return write_request{state::claim_mode_set{std::move(name), std::move(id), *mode}};
}

action pin_limit(const request_context& c, std::string name) {
  std::optional<std::uint64_t> n;
  if (auto r = read_count(c, "n", n))
    return std::move(*r);
  if (!n)
    return invalid_parameter("n", "missing");
  return write_request{state::claim_limit_set{std::move(name), *n}};
}

action put_claim(request_context& c, claim_target t) {
  std::string id(c.query.get("id"));
  if (t.action == old_transfer)
    c.old_name = &renamed(name_kind::route, "PUT /v1/claim/NAME/transfer");
  if (t.action == transfer || t.action == old_transfer)
    return write_request{state::claim_transfer{std::move(t.name), std::move(id), std::string(c.query.get("to"))}};
  if (t.action == "/mode")
    return change_mode(c, std::move(t.name), std::move(id));
  if (t.action == "/limit")
    return pin_limit(c, std::move(t.name));
  return ask_for(c, std::move(t.name));
}

/// Only PUT has actions: names that end like one are rejected.
response reserved_end(std::string_view action) {
  return invalid_parameter("name", "it ends in \"" + std::string(action) + "\", which names must not end in");
}

action delete_claim(const request_context& c, claim_target t) {
  if (t.action == "/limit")
    return write_request{state::claim_limit_unset{std::move(t.name)}};
  if (!t.action.empty())
    return reserved_end(t.action);
  return write_request{state::claim_release{std::move(t.name), std::string(c.query.get("id"))}};
}

action get_claim(const request_context& c, claim_target t) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (!t.action.empty())
    return reserved_end(t.action);
  return make_read(state::claim_read{{std::move(t.name), state::claim_space::claims}}, o);
}

/// Options of a listing.
refused read_look(const request_context& c, query_options& o) {
  if (auto r = refuse_elsewhere(c))
    return r;
  return read_query_options(c, o);
}

/// Absent: nullopt.
std::optional<std::string> text_of(const request_context& c, std::string_view name) {
  return c.query.has(name) ? std::optional(std::string(c.query.get(name))) : std::nullopt;
}

} // namespace

action claim_route(request_context& c) {
  if (auto r = refuse_elsewhere(c))
    return std::move(*r);
  auto t = target_of(c);
  if (t.name.empty())
    return error_response(400, "Missing claim name");
  if (c.request.method == "GET")
    return get_claim(c, std::move(t));
  return c.request.method == "PUT" ? put_claim(c, std::move(t)) : delete_claim(c, std::move(t));
}

action claims_route(request_context& c) {
  query_options o;
  if (auto r = read_look(c, o))
    return std::move(*r);
  state::claims_list q;
  q.under = text_of(c, "prefix");
  q.session = text_of(c, "session");
  q.node = text_of(c, "node");
  if ((q.under ? 1 : 0) + (q.session ? 1 : 0) + (q.node ? 1 : 0) > 1)
    return error_response(400, "Conflicting flags: " + c.query.encoded());
  if (c.query.has("after")) {
    auto after = read_page_cursor(c.query.get("after"));
    if (!after)
      return invalid_parameter("after", "not a value of X-Belay-Next");
    q.after = std::move(*after);
  }
  return make_read(std::move(q), o);
}

action claims_graph_route(request_context& c) {
  query_options o;
  if (auto r = read_look(c, o))
    return std::move(*r);
  return make_read(state::claims_graph{}, o);
}

} // namespace belay::http
