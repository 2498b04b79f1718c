// /v1/kv/ (docs/contract/03).

#include "protocol/base/mutants.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/kv/change_routes.hpp"
#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"

#include <initializer_list>

namespace belay::http {

namespace {

response missing_key_name() {
  return error_response(400, "Missing key name");
}

refused refuse_conflict(const request_context& c, std::initializer_list<std::string_view> exclusive) {
  int given = 0;
  for (const auto name : exclusive)
    given += c.query.has(name) ? 1 : 0;
  if (given < 2)
    return std::nullopt;
  return error_response(400, "Conflicting flags: " + c.query.encoded());
}

/// Absent: `out` is unchanged. A bad number is a 500 (docs/contract/01, section 10).
refused read_number(const request_context& c, std::string_view name, std::uint64_t& out) {
  if (!c.query.has(name))
    return std::nullopt;
  auto value = go_compat::read_uint(c.query.get(name));
  if (!value)
    return error_response(500, value.error());
  out = *value;
  return std::nullopt;
}

action get_key(request_context& c, const query_options& o) {
  if (c.argument.empty() && !c.query.has("recurse") && !c.query.has("keys") && !c.query.has("history"))
    return missing_key_name(); // before the namespace, as in Consul
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (c.query.has("at") || c.query.has("history"))
    return past_route(c, o);
  state::query q;
  if (auto r = refuse_conflict(c, {"claims", "keys"}))
    return std::move(*r);
  if (auto r = refuse_conflict(c, {"claims", "recurse"}))
    return std::move(*r);
  if (c.query.has("claims")) {
    if (c.argument.empty())
      return missing_key_name();
    q = state::claim_read{{std::string(c.argument), state::claim_space::keys}};
  } else if (c.query.has("keys")) {
    // Old clients misspell it; the correct spelling takes precedence.
    auto separator = c.query.get("separator");
    if (separator.empty())
      separator = c.query.get("seperator");
    q = state::kv_keys{std::string(c.argument), std::string(separator)};
  } else if (c.query.has("recurse")) {
    q = state::kv_list{std::string(c.argument)};
  } else {
    if (c.argument.empty())
      return missing_key_name();
    q = state::kv_get{std::string(c.argument)};
    c.options.raw = c.query.has("raw");
  }
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  return filtered_read(c, std::move(q), o);
}

/// The command for the operation: extensions have commands of their own (docs/reference/http-extensions.md).
action write_of(const request_context& c, state::kv_op op) {
  std::chrono::nanoseconds wait_time{0};
  std::optional<state::fence_ref> fence;
  bool refuse_deadlock = false;
  if (auto r = read_fence(c, fence))
    return std::move(*r);
  if (op.verb != state::kv_verb::lock && c.query.has("queue"))
    return invalid_parameter("queue", "only together with \"acquire\"");
  if (op.verb == state::kv_verb::lock) {
    if (auto r = read_wait_time(c, "queue", wait_time))
      return std::move(*r);
    if (auto r = read_deadlock(c, refuse_deadlock))
      return std::move(*r);
  }
  if (wait_time.count() > 0) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait_time).count();
    return write_request{
        state::kv_acquire{std::move(op), static_cast<std::uint64_t>(ms), refuse_deadlock, std::move(fence)}, wait_time};
  }
  if (fence)
    return write_request{state::fenced_write{std::move(op), std::move(*fence)}};
  return write_request{state::kv_write{std::move(op)}};
}

/// A signed 64-bit integer; absent: nullopt.
refused read_signed(const request_context& c, std::string_view name, std::optional<std::int64_t>& out) {
  if (!c.query.has(name))
    return std::nullopt;
  out = go_compat::parse_int(c.query.get(name));
  return out ? std::nullopt : refused(invalid_parameter(name, "it must be a 64-bit integer"));
}

/// `?add=N[&min=N][&max=N]`.
refused read_sum(const request_context& c, state::kv_op& op) {
  std::optional<std::int64_t> amount;
  if (auto r = read_signed(c, "add", amount))
    return r;
  if (auto r = read_signed(c, "min", op.min))
    return r;
  if (auto r = read_signed(c, "max", op.max))
    return r;
  if (!amount && (op.min || op.max))
    return invalid_parameter(op.min ? "min" : "max", "only together with \"add\"");
  if (!amount)
    return std::nullopt;
  if (op.min && op.max && *op.min > *op.max)
    return invalid_parameter("min", "above \"max\"");
  if (!c.request.body.empty())
    return invalid_parameter("add", "not together with a value");
  op.verb = state::kv_verb::add;
  op.amount = *amount;
  return std::nullopt;
}

action put_key(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (c.argument.empty())
    return missing_key_name();
  if (auto r = refuse_conflict(c, {"cas", "acquire", "release", "add"}))
    return std::move(*r);
  if (auto r = refuse_conflict(c, {"flags", "add"}))
    return std::move(*r);
  state::kv_op op;
  std::uint64_t cas = 0;
  if (auto r = read_number(c, "flags", op.flags))
    return std::move(*r);
  if (auto r = read_number(c, "cas", cas))
    return std::move(*r);
  if (auto r = read_sum(c, op))
    return std::move(*r);
  if (c.request.unread_body_bytes || c.request.body.size() > c.settings.kv_max_value_size)
    return body_too_large(c.request.target, c.request.unread_body_bytes.value_or(c.request.body.size()), c.settings);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  if (c.query.has("cas") && !(cas == 0 && MUTANT(cas_of_zero_ignored))) {
    op.verb = state::kv_verb::cas;
    op.index = log_index{cas};
  } else if (c.query.has("acquire")) {
    op.verb = state::kv_verb::lock;
    op.session = c.query.get("acquire");
  } else if (c.query.has("release")) {
    op.verb = state::kv_verb::unlock;
    op.session = c.query.get("release");
  }
  op.key = c.argument;
  op.value = make_payload(c.request.body);
  return write_of(c, std::move(op));
}

action delete_key(request_context& c) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_conflict(c, {"recurse", "cas"}))
    return std::move(*r);
  const bool recurse = c.query.has("recurse");
  if (!recurse && c.argument.empty())
    return missing_key_name();
  std::uint64_t cas = 0;
  if (auto r = read_number(c, "cas", cas))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  state::kv_op op;
  op.key = c.argument;
  op.verb = recurse              ? state::kv_verb::remove_tree
            : c.query.has("cas") ? state::kv_verb::remove_cas
                                 : state::kv_verb::remove;
  op.index = log_index{cas};
  return write_of(c, std::move(op));
}

} // namespace

action kv_route(request_context& c) {
  if (c.request.method == "GET" && c.query.has("changes"))
    return changes_route(c);
  query_options o;
  // For writes, too: docs/contract/01, section 4.
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (c.request.method == "GET")
    return get_key(c, o);
  return c.request.method == "PUT" ? put_key(c) : delete_key(c);
}

} // namespace belay::http
