// /v1/session/ (docs/contract/04, section 2).

#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/json_input.hpp"
#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/reading/kv_op_input.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/record_input.hpp"
#include "protocol/http/routes.hpp"

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

#include <limits>
#include <utility>

namespace belay::http {

namespace {

using boost::json::value;

constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::int64_t lock_delay_default_ns = 15 * ns_per_second;           // docs/contract/04, section 2.1
constexpr std::chrono::nanoseconds session_ttl_max = std::chrono::hours(24); // as above
// An agent with a thousand sessions sends one request. A higher limit would
// block the leader: each is a look-up, and with ACLs a permission check.
constexpr std::size_t sessions_renewed_at_once_max = 4096;
constexpr std::string_view serf_check = "serfHealth";

/// The body, before defaults are applied.
struct session_body {
  state::session_record session;
  std::string behavior{name_of(state::session_behavior::release)};
  // Members that Consul does not have (docs/reference/http-extensions.md).
  std::string ttl_mode;
  std::vector<kv_op_input> on_end;

  session_body() {
    session.lock_delay_ns = lock_delay_default_ns;
    session.checks = {std::string(serf_check)};
    session.node_checks = {std::string(serf_check)};
  }
};

/// docs/contract/04, section 2.1: small values are seconds, in any format.
std::int64_t seconds_if_small(std::int64_t ns) {
  constexpr std::int64_t threshold = 1000;
  if (ns >= threshold)
    return ns;
  // A negative delay is none; multiplied it could overflow into a long one.
  return ns < 0 ? std::max(ns, -threshold) * ns_per_second : ns * ns_per_second;
}

void decode_lock_delay(go_compat::json_decoder& d, const value& v, std::int64_t& out) {
  if (v.is_null())
    return;
  std::int64_t ns = 0;
  if (const auto* s = v.if_string()) {
    const std::string_view text(s->data(), s->size());
    const auto parsed = go_compat::parse_duration(text);
    if (!parsed) {
      d.fail(go_compat::duration_complaint(text));
      return;
    }
    ns = parsed->count();
  } else if (const auto* i = v.if_int64())
    ns = *i;
  else if (v.is_uint64())
    ns = std::numeric_limits<std::int64_t>::max();
  else if (v.is_double())
    d.duration_ns(v, {"", "LockDelay"}, ns);
  out = seconds_if_small(ns);
}

void decode_service_checks(go_compat::json_decoder& d, const value& v, std::optional<std::vector<std::string>>& out) {
  out.reset();
  if (v.is_null())
    return;
  const auto* list = v.if_array();
  if (!list) {
    d.wrong_type(v, "struct field .ServiceChecks of type []structs.ServiceCheck");
    return;
  }
  out.emplace();
  for (const auto& each : *list) {
    auto& id = out->emplace_back();
    d.object(
        each, "struct field .ServiceChecks of type structs.ServiceCheck",
        [&](const std::string& name, const value& v2) {
          std::string ignored;
          if (name == "id")
            d.text(v2, {"", "ServiceChecks.ID"}, id);
          else if (name == "namespace")
            d.text(v2, {"", "ServiceChecks.Namespace"}, ignored);
          return true;
        },
        true);
  }
}

struct session_input : member_input {
  std::string& behavior;

  template <class Field, class T>
  bool operator()(Field f, T& out) const {
    // Clients cannot choose it.
    if constexpr (Field::name == "ID") {
      std::string ignored;
      d.text(value, {owner, Field::name}, ignored);
    } else if constexpr (std::is_same_v<T, log_index>) {
      log_index ignored;
      d.index(value, {owner, Field::name}, ignored);
    } else if constexpr (Field::name == "LockDelay")
      decode_lock_delay(d, value, out);
    else if constexpr (Field::is(state::as::id_objects))
      decode_service_checks(d, value, out);
    else if constexpr (std::is_same_v<T, state::session_behavior>)
      d.text(value, {owner, Field::name}, behavior);
    else
      return member_input::operator()(f, out);
    return true;
  }
};

void decode_on_end(go_compat::json_decoder& d, const value& v, std::vector<kv_op_input>& out) {
  if (v.is_null())
    return;
  const auto* list = v.if_array();
  if (!list) {
    d.wrong_type(v, "struct field .OnEnd of type []KVTxnOp");
    return;
  }
  if (!d.fits(out.size() + list->size(), {"Session", "OnEnd"}, go_compat::client_json.elements_max))
    return;
  for (const auto& each : *list)
    out.push_back(decode_kv_op(d, each, "OnEnd", "struct field .OnEnd of type KVTxnOp"));
}

void decode_body(go_compat::json_decoder& d, const value& v, session_body& out) {
  d.object(
      v, "value of type structs.Session",
      [&](const std::string& name, const value& each) {
        if (name == "ttlmode")
          d.text(each, {"", "TTLMode"}, out.ttl_mode);
        else if (name == "onend")
          decode_on_end(d, each, out.on_end);
        else
          return decode_member(name, out.session, session_input{{d, each, ""}, out.behavior});
        return true;
      },
      true);
}

/// docs/contract/04, section 2.1, "Resolution of the check lists".
void resolve_checks(state::session_record& b) {
  if (!b.checks || b.checks->empty()) {
    b.checks.reset();
    b.node_checks.emplace();
  } else if (!b.node_checks || b.node_checks->empty() || (b.checks->size() == 1 && b.checks->front() == serf_check))
    b.checks.reset();
}

/// @param least the minimum; zero is valid, too
refused read_ttl(const std::string& text, std::chrono::nanoseconds least, std::int64_t& out_ns) {
  if (text.empty())
    return std::nullopt;
  const auto ttl = go_compat::parse_duration(text);
  if (!ttl)
    return error_response(500, "Session TTL '" + text + "' invalid: " + go_compat::duration_complaint(text));
  if (ttl->count() != 0 && (*ttl < least || *ttl > session_ttl_max))
    return error_response(500, "Invalid Session TTL '" + std::to_string(ttl->count()) + "', must be between [" +
                                   go_compat::format_duration(least) + "=" +
                                   go_compat::format_duration(session_ttl_max) + "]");
  out_ns = ttl->count();
  return std::nullopt;
}

/// The state machine validates the verbs.
refused make_on_end(std::vector<kv_op_input> in, std::vector<state::kv_op>& out) {
  for (auto& each : in) {
    const auto verb = state::named<state::kv_verb>(each.verb);
    if (!verb || each.names_fence())
      return invalid_parameter("OnEnd", verb ? "operations must not have a fencing token"
                                             : "unknown verb \"" + each.verb + "\"");
    if (const auto wrong = each.wrong_sum(); !wrong.empty())
      return invalid_parameter("OnEnd", wrong);
    each.op.verb = *verb;
    out.push_back(std::move(each.op));
  }
  return std::nullopt;
}

/// The record to create, or an error.
refused make_session(request_context& c, session_body b, state::session_record& out) {
  if (b.session.node.empty())
    return error_response(500, "Must provide Node");
  const auto behavior = state::named<state::session_behavior>(b.behavior);
  if (!behavior && !b.behavior.empty())
    return error_response(500, "Invalid Behavior setting '" + b.behavior + "'");
  const auto mode = state::named<state::session_ttl_mode>(b.ttl_mode);
  if (!mode)
    return invalid_parameter("TTLMode", "only \"exact\"");
  const bool exact = *mode == state::session_ttl_mode::exact;
  const auto least = exact ? std::chrono::nanoseconds(state::exact_ttl_ns_min) : c.settings.session_ttl_min;
  if (auto r = read_ttl(b.session.ttl, least, b.session.ttl_ns))
    return r;
  if (exact && b.session.ttl_ns == 0)
    return invalid_parameter("TTLMode", "an exact TTL requires a TTL");
  if (auto r = make_on_end(std::move(b.on_end), b.session.on_end))
    return r;
  b.session.ttl_mode = *mode;
  resolve_checks(b.session);
  out = std::move(b.session);
  out.id = c.uuid();
  out.behavior = behavior.value_or(state::session_behavior::release);
  return std::nullopt;
}

/// The id in the path of destroy and renew, with their common checks.
refused refuse_target(const request_context& c) {
  if (auto r = refuse_namespace(c))
    return r;
  if (c.argument.empty())
    return error_response(400, "Missing session");
  if (auto r = refuse_datacenter(c))
    return r;
  return refuse_session_id(c.argument);
}

refused read_options(const request_context& c, query_options& o) {
  if (auto r = read_query_options(c, o))
    return r;
  return refuse_namespace(c);
}

/// A query about the session in the path.
template <class Query>
action read_one(const request_context& c) {
  query_options o;
  if (auto r = read_options(c, o))
    return std::move(*r);
  if (c.argument.empty())
    return error_response(400, "Missing session");
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  if (auto r = refuse_session_id(c.argument))
    return with_unknown_meta(std::move(*r));
  return make_read(Query{std::string(c.argument)}, o);
}

} // namespace

action session_create_route(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  session_body body;
  body.session.node = node_of_agent(c);
  if (!c.request.body.empty()) {
    go_compat::json_decoder d(c.request.body);
    auto json = go_compat::read_json(c.request.body);
    if (json)
      decode_body(d, *json, body);
    else
      d.fail(json.error());
    if (!d.ok())
      return error_response(400, "Request decode failed: " + d.error());
  }
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  state::session_record session;
  if (auto r = make_session(c, std::move(body), session))
    return std::move(*r);
  const bool known_to_consul = session.ttl_mode == state::session_ttl_mode::lower_bound && session.on_end.empty();
  if (known_to_consul)
    return write_request{state::session_create{std::move(session)}};
  state::session_begin begin;
  begin.ttl_mode = session.ttl_mode;
  begin.on_end = std::exchange(session.on_end, {});
  begin.session = std::move(session);
  return write_request{std::move(begin)};
}

action session_destroy_route(request_context& c) {
  if (auto r = refuse_target(c))
    return std::move(*r);
  return write_request{state::session_destroy{{std::string(c.argument)}, "destroyed"}};
}

action session_renew_route(request_context& c) {
  query_options ignored; // parsed for errors, as in Consul
  if (auto r = read_options(c, ignored))
    return std::move(*r);
  if (auto r = refuse_target(c))
    return std::move(*r);
  return session_renew{std::string(c.argument)};
}

/// Several sessions in one request (docs/reference/http-extensions.md).
action session_renew_list_route(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  go_compat::json_decoder d(c.request.body);
  std::optional<std::vector<std::string>> ids;
  auto json = go_compat::read_json(c.request.body);
  if (json)
    d.texts(*json, {"", "sessions"}, ids);
  else
    d.fail(json.error());
  if (!d.ok())
    return error_response(400, "Request decode failed: " + d.error());
  if (!ids || ids->empty())
    return error_response(400, "Missing session");
  if (ids->size() > sessions_renewed_at_once_max)
    return error_response(413, "Too many sessions (" + std::to_string(ids->size()) + " > " +
                                   std::to_string(sessions_renewed_at_once_max) + ")");
  for (const auto& id : *ids)
    if (auto r = refuse_session_id(id))
      return std::move(*r);
  return session_renew_list{std::move(*ids)};
}

action session_info_route(request_context& c) {
  return read_one<state::session_info>(c);
}

/// How a session ended (docs/reference/http-extensions.md).
action session_ended_route(request_context& c) {
  return read_one<state::session_ended>(c);
}

action session_node_route(request_context& c) {
  query_options o;
  if (auto r = read_options(c, o))
    return std::move(*r);
  if (c.argument.empty())
    return error_response(400, "Missing node name");
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  return make_read(state::session_node{std::string(c.argument)}, o);
}

action session_list_route(request_context& c) {
  query_options o;
  if (auto r = read_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  return filtered_read(c, state::session_list{}, o);
}

} // namespace belay::http
