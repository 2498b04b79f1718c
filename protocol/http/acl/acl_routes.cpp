// /v1/acl/policy..., role..., token... (docs/contract/10, section 5). The state machine validates
// ids and names after the permission check; this file rejects only what a command cannot express.

#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/http/acl/acl_input.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"

#include <cstdint>
#include <limits>

namespace belay::http {

namespace {

using namespace std::chrono_literals;

// Consul's acl.token_max_expiration_ttl, unless configured.
constexpr std::chrono::nanoseconds lives_max = 24h;

response bad_input(const std::string& why) {
  return error_response(400, "Bad request: " + why);
}

response failed(std::string why) {
  return error_response(500, std::move(why));
}

/// A read of one row, or of many.
action read(const request_context& c, state::query q) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  return make_read(std::move(q), o);
}

/// A read of the row with that id.
action read_by_id(const request_context& c, state::query q, std::string_view id) {
  auto a = read(c, std::move(q));
  if (auto* r = std::get_if<read_request>(&a); r != nullptr && id.size() != uuid_characters)
    r->min_index = 0; // it is rejected, now and later
  return a;
}

/// The id in the body must be that in the path, or empty; then it is set to that.
bool take_id(std::string& in_body, std::string_view in_path) {
  if (in_body.empty())
    in_body = in_path;
  return in_body == in_path;
}

// ---- policies

/// `id` of the path; empty: a new policy.
action policy_write(request_context& c, std::string_view id, bool create) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  auto policy = read_acl_policy(c.request.body);
  if (!policy)
    return bad_input("Policy decoding failed: " + policy.error());
  if (create && !policy->id.empty())
    return bad_input("Cannot specify the ID when creating a new policy");
  if (!take_id(policy->id, id))
    return bad_input("Policy ID in URL and payload do not match");
  state::acl_policy_set set{std::move(*policy), id.empty()};
  if (set.fresh)
    set.policy.id = c.uuid();
  return write_request{std::move(set)};
}

// ---- roles

action role_write(request_context& c, std::string_view id) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  auto in = read_acl_role(c.request.body);
  if (!in)
    return bad_input("Role decoding failed: " + in.error());
  if (!take_id(in->role.id, id))
    return bad_input("Role ID in URL and payload do not match");
  state::acl_role_set set{std::move(in->role), std::move(in->policies), id.empty()};
  if (set.fresh)
    set.role.id = c.uuid();
  return write_request{std::move(set)};
}

// ---- tokens

/// Lifetime, counted from now on.
refused read_lifetime(const token_input& in, std::int64_t now_ns, std::chrono::nanoseconds lives_min,
                      state::acl_token_set& out) {
  using go_compat::format_duration;
  if (in.ttl_ns < 0)
    return failed("Token Expiration TTL '" + format_duration(std::chrono::nanoseconds(in.ttl_ns)) + "' should be > 0");
  if (in.ttl_ns != 0 && in.expiration)
    return failed("Token Expiration TTL and Expiration Time cannot both be set");
  if (in.ttl_ns == 0 && !in.expiration)
    return std::nullopt;
  std::int64_t lives = in.ttl_ns;
  if (in.expiration && __builtin_sub_overflow(in.expiration->ns_since_1970(), now_ns, &lives))
    lives = in.expiration->ns_since_1970() < 0 ? std::numeric_limits<std::int64_t>::min()
                                               : std::numeric_limits<std::int64_t>::max();
  const std::chrono::nanoseconds expires_in(lives);
  if (lives < 0)
    return failed("ExpirationTime cannot be before CreateTime");
  if (expires_in > lives_max)
    return failed("ExpirationTime cannot be more than " + format_duration(lives_max) + " in the future (was " +
                  format_duration(expires_in) + ")");
  if (expires_in < lives_min)
    return failed("ExpirationTime cannot be less than " + format_duration(lives_min) + " in the future (was " +
                  format_duration(expires_in) + ")");
  out.lives_ns = lives;
  out.token.expiration_time_ns = now_ns + lives;
  return std::nullopt;
}

/// Members that only tokens of logins and of earlier versions have.
refused refuse_foreign_members(const token_input& in, const std::string& auth_method_text) {
  if (!in.auth_method.empty())
    return failed(auth_method_text);
  if (!in.rules.empty())
    return failed("Rules cannot be specified for this token");
  return std::nullopt;
}

refused complete_new(request_context& c, const token_input& in, state::acl_token_set& set) {
  auto& t = set.token;
  if (!t.secret.empty() && !could_be_token(t.secret))
    return failed("Invalid Token: SecretID is not a valid UUID");
  if (t.accessor.empty())
    t.accessor = c.uuid();
  if (t.secret.empty())
    t.secret = c.uuid();
  t.create_time_ns = c.request.now_ns;
  if (auto r = read_lifetime(in, c.request.now_ns, c.settings.token_ttl_min, set))
    return r;
  return refuse_foreign_members(in, "AuthMethod field is disallowed outside of Login");
}

/// The expiration cannot be changed: the state machine compares it.
refused complete_changed(const token_input& in, state::acl_token_set& set) {
  set.lives_ns = in.ttl_ns;
  set.token.expiration_time_ns = in.expiration ? in.expiration->ns_since_1970() : 0;
  return refuse_foreign_members(in, "Cannot change AuthMethod of " + set.token.accessor);
}

/// `create`: the path names no accessor, but the body may.
action token_write(request_context& c, std::string_view accessor, bool create) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  auto in = read_acl_token(c.request.body);
  if (!in)
    return bad_input("Token decoding failed: " + in.error());
  if (!create && !take_id(in->token.accessor, accessor))
    return bad_input("Token Accessor ID in URL and payload do not match");
  state::acl_token_set set;
  set.token = std::move(in->token);
  set.policies = std::move(in->policies);
  set.roles = std::move(in->roles);
  set.fresh = create || set.token.accessor.empty();
  if (auto r = set.fresh ? complete_new(c, *in, set) : complete_changed(*in, set))
    return std::move(*r);
  return write_request{std::move(set)};
}

action token_clone(request_context& c, std::string_view accessor) {
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  auto in = read_acl_token(c.request.body);
  if (!in)
    return bad_input("Token decoding failed: " + in.error());
  state::acl_token_clone clone{std::string(accessor), c.uuid(), c.uuid(), std::nullopt, c.request.now_ns};
  if (!in->token.description.empty())
    clone.description = std::move(in->token.description);
  return write_request{std::move(clone)};
}

} // namespace

action acl_policies_route(request_context& c) {
  return read(c, state::acl_policy_list{});
}

action acl_policy_route(request_context& c) {
  return policy_write(c, {}, true);
}

action acl_policy_id_route(request_context& c) {
  if (c.request.method == "PUT")
    return policy_write(c, c.argument, false);
  if (c.argument.empty())
    return bad_input("Missing policy ID");
  if (c.request.method == "GET")
    return read_by_id(c, state::acl_policy_read{{std::string(c.argument), {}}}, c.argument);
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  return write_request{state::acl_policy_delete{std::string(c.argument)}};
}

action acl_policy_name_route(request_context& c) {
  if (c.argument.empty())
    return bad_input("Missing policy Name");
  return read(c, state::acl_policy_read{{{}, std::string(c.argument)}});
}

action acl_roles_route(request_context& c) {
  return read(c, state::acl_role_list{std::string(c.query.get("policy"))});
}

action acl_role_route(request_context& c) {
  return role_write(c, {});
}

action acl_role_id_route(request_context& c) {
  if (c.request.method == "PUT")
    return role_write(c, c.argument);
  if (c.argument.empty())
    return bad_input("Missing role ID");
  if (c.request.method == "GET")
    return read_by_id(c, state::acl_role_read{{std::string(c.argument), {}}}, c.argument);
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  return write_request{state::acl_role_delete{std::string(c.argument)}};
}

action acl_role_name_route(request_context& c) {
  if (c.argument.empty())
    return bad_input("Missing role Name");
  return read(c, state::acl_role_read{{{}, std::string(c.argument)}});
}

/// `?authmethod`: no token here comes from one.
action acl_tokens_route(request_context& c) {
  int requested = 0;
  for (const auto* name : {"policy", "role", "authmethod"})
    requested += c.query.get(name).empty() ? 0 : 1;
  if (requested > 1)
    return failed("can only filter by one of policy, role, or methodName at a time");
  return read(c, state::acl_token_list{std::string(c.query.get("policy")), std::string(c.query.get("role"))});
}

/// Older than namespaces, and the only route here that accepts another datacenter: as in Consul.
action acl_legacy_list_route(request_context& c) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  return make_read(state::acl_legacy_list{}, o);
}

action acl_token_route(request_context& c) {
  return token_write(c, {}, true);
}

action acl_token_self_route(request_context& c) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return with_unknown_meta(std::move(*r));
  return make_read(state::acl_token_self{}, o);
}

action acl_token_id_route(request_context& c) {
  constexpr std::string_view clone = "/clone";
  auto accessor = c.argument;
  if (c.request.method == "PUT" && accessor.ends_with(clone))
    return token_clone(c, accessor.substr(0, accessor.size() - clone.size()));
  if (c.request.method == "PUT")
    return token_write(c, accessor, false);
  if (accessor.empty())
    return bad_input("Missing token ID");
  if (c.request.method == "GET")
    return read_by_id(c, state::acl_token_read{std::string(accessor)}, accessor);
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (!is_uuid(accessor))
    return failed("Accessor ID is missing or an invalid UUID");
  return write_request{state::acl_token_delete{std::string(accessor)}};
}

} // namespace belay::http
