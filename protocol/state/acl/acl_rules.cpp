#include "protocol/state/acl/acl_rules.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/state/acl/acl_reading.hpp"
#include "protocol/state/acl/acl_validation.hpp"
#include "protocol/state/folded_name.hpp"

namespace belay::state {

namespace {

using complaint = std::optional<std::string>;
using go_compat::quoted;

constexpr std::int64_t ns_per_ms = 1'000'000;
/// Prefix of the IDs of built-in rows (agent/structs/acl.go of Consul).
constexpr std::string_view reserved_prefix = "00000000-0000-0000-0000-0000000000";

/// The IDs that the links name, without duplicates.
/// @param find_named,find look up by name, by ID
template <class FindNamed, class Find>
complaint resolve(const std::vector<acl_link>& links, const char* kind, FindNamed find_named, Find find,
                  std::vector<std::string>& out) {
  out.clear();
  std::set<std::string, std::less<>> seen;
  for (const auto& link : links) {
    const auto row = link.id.empty() ? find_named(link.name) : find(link.id);
    if (!row)
      return "No such ACL " + std::string(kind) + (link.id.empty() ? " with name " : " with ID ") +
             quoted(link.id.empty() ? link.name : link.id);
    if (seen.insert(row->id).second)
      out.push_back(row->id);
  }
  return std::nullopt;
}
complaint resolve_policies(const acl_table& t, const std::vector<acl_link>& links, std::vector<std::string>& out) {
  return resolve(
      links, "policy", [&](const auto& name) { return t.policy_named(name); },
      [&](const auto& id) { return t.policy(id); }, out);
}
complaint resolve_roles(const acl_table& t, const std::vector<acl_link>& links, std::vector<std::string>& out) {
  return resolve(
      links, "role", [&](const auto& name) { return t.role_named(name); }, [&](const auto& id) { return t.role(id); },
      out);
}

// ---- changes: each sets its table's index and causes waiters to be authorized again

void note(applying& a, index_kind m) {
  a.t.indexes.set(m, a.index);
  a.changed.push_back(access_changed{});
}

template <class Record>
std::shared_ptr<const Record> store(applying& a, Record row, log_index created, index_kind m) {
  row.create_index = created;
  row.modify_index = a.index;
  auto stored = std::make_shared<const Record>(std::move(row));
  a.t.acls.put(stored);
  note(a, m);
  return stored;
}

void ensure_management_policy(applying& a) {
  if (a.t.acls.policy(management_policy_id))
    return;
  acl_policy all;
  all.id = management_policy_id;
  all.name = management_policy_name;
  // Another policy may have that name after a restore of an archive without policies.
  while (a.t.acls.taken(all))
    all.name += "-builtin";
  all.description = "Builtin Policy that grants unlimited access";
  all.rules = management_rules_text;
  store(a, std::move(all), a.index, index_kind::acl_policies);
}

acl_token management_token(std::string_view accessor, std::string_view secret, std::string_view description,
                           std::int64_t time_ns) {
  acl_token token;
  token.accessor = folded(accessor);
  token.secret = secret;
  token.description = description;
  token.policies = {std::string(management_policy_id)};
  token.create_time_ns = time_ns;
  return token;
}

// ---- tokens

/// Validates accessor or secret of a new token.
/// @param what "AccessorID" or "SecretID"
complaint new_id_error(const acl_table& t, const std::string& what, const std::string& id) {
  if (!is_uuid(id))
    return "Invalid Token: " + what + " is not a valid UUID";
  if (t.token(id) || t.token_with_secret(id))
    return "Invalid Token: " + what + " is already in use";
  if (starts_with(folded(id), reserved_prefix))
    return "Invalid Token: UUIDs with the prefix " + quoted(reserved_prefix) + " are reserved";
  return std::nullopt;
}

/// Whether the same command was applied before: no other client has both secret and nanosecond.
bool made_by(const acl_token& known, std::string_view secret, std::int64_t create_time_ns) {
  return known.secret == secret && known.create_time_ns == create_time_ns;
}

cluster_time end_of(cluster_time now, std::int64_t lives_ns) {
  if (lives_ns == 0)
    return {};
  return cluster_time{now.value + static_cast<std::uint64_t>(lives_ns / ns_per_ms + (lives_ns % ns_per_ms != 0))};
}

/// An expiration time that was given must equal the token's.
complaint changed_end(const acl_token_set& c, const acl_token& known) {
  if (c.lives_ns != 0 || (c.token.expiration_time_ns != 0 && c.token.expiration_time_ns != known.expiration_time_ns))
    return "Cannot change expiration time of " + c.token.accessor;
  return std::nullopt;
}

/// Copies what an existing token keeps, and rejects what must not change.
complaint keep_known(const acl_token_set& c, const acl_token_ptr& known, acl_token& next) {
  if (!is_uuid(c.token.accessor))
    return "AccessorID is not a valid UUID";
  if (is_reserved_secret(c.token.secret))
    return "Permission denied: Cannot modify root ACL";
  if (!known)
    return "Cannot find token " + quoted(c.token.accessor);
  if (!c.token.secret.empty() && c.token.secret != known->secret)
    return "Changing a tokens SecretID is not permitted";
  if (c.token.local != known->local)
    return "cannot toggle local mode of " + c.token.accessor;
  if (auto why = changed_end(c, *known))
    return why;
  next.accessor = known->accessor;
  next.secret = known->secret;
  next.create_time_ns = known->create_time_ns;
  next.expiration_time_ns = known->expiration_time_ns;
  next.expires = known->expires;
  return std::nullopt;
}

complaint begin_new(const applying& a, const acl_token_set& c, acl_token& next) {
  if (auto why = new_id_error(a.t.acls, "AccessorID", c.token.accessor))
    return why;
  if (auto why = new_id_error(a.t.acls, "SecretID", c.token.secret))
    return why;
  if (c.lives_ns < 0)
    return "ExpirationTime cannot be before CreateTime";
  next.accessor = a.scope && !MUTANT(accessor_in_lower_case) ? c.token.accessor : folded(c.token.accessor);
  next.expires = end_of(a.now, c.lives_ns);
  if (c.lives_ns == 0)
    next.expiration_time_ns = 0;
  return std::nullopt;
}

reply nothing_to_delete(std::string_view kind, const std::string& id) {
  auto wrong = id_refused(kind, id);
  return wrong ? reply{std::move(*wrong)} : reply{true};
}

} // namespace

// ---- commands

reply apply_access(applying& a, const acl_initialize& c) {
  ensure_management_policy(a);
  if (!a.t.acls.token(anonymous_accessor)) {
    acl_token anonymous;
    anonymous.accessor = anonymous_accessor;
    anonymous.secret = anonymous_secret;
    anonymous.description = "Anonymous Token";
    anonymous.create_time_ns = c.time_ns;
    store(a, std::move(anonymous), a.index, index_kind::acl_tokens);
  }
  if (c.master_secret.empty() || is_reserved_secret(c.master_secret) || a.t.acls.token_with_secret(c.master_secret) ||
      !is_uuid(c.master_accessor) || a.t.acls.token(c.master_accessor))
    return true;
  store(a, management_token(c.master_accessor, c.master_secret, master_description, c.time_ns), a.index,
        index_kind::acl_tokens);
  if (a.t.indexes.at(index_kind::acl_bootstrap).is_zero())
    a.t.indexes.set(index_kind::acl_bootstrap, a.index);
  return true;
}

std::optional<std::string> bootstrap_refusal(const tables& t, const acl_bootstrap& c) {
  const auto last = t.indexes.at(index_kind::acl_bootstrap);
  if (last.is_zero() || c.reset_index == last)
    return std::nullopt;
  if (const auto known = t.acls.token(c.accessor); known && made_by(*known, c.secret, c.time_ns))
    return std::nullopt;
  if (c.reset_index.is_zero())
    return "Permission denied: ACL bootstrap no longer allowed (reset index: " + to_string(last) + ")";
  return "Invalid bootstrap reset index (specified " + to_string(c.reset_index) + ", reset index: " + to_string(last) +
         ")";
}

reply apply_access(applying& a, const acl_bootstrap& c) {
  if (const auto known = a.t.acls.token(c.accessor); known && made_by(*known, c.secret, c.time_ns))
    return shown_row(a.t.acls, known);
  if (auto why = bootstrap_refusal(a.t, c))
    return refusal{std::move(*why)};
  for (const auto& [what, id] : {std::pair{"AccessorID", &c.accessor}, std::pair{"SecretID", &c.secret}})
    if (auto why = new_id_error(a.t.acls, what, *id))
      return refusal{std::move(*why)};
  ensure_management_policy(a);
  auto row = store(a, management_token(c.accessor, c.secret, bootstrap_description, c.time_ns), a.index,
                   index_kind::acl_tokens);
  a.t.indexes.set(index_kind::acl_bootstrap, a.index);
  return shown_row(a.t.acls, std::move(row));
}

reply apply_access(applying& a, const acl_policy_set& c) {
  acl_policy next = c.policy;
  next.id = folded(next.id);
  next.meaning = nullptr;
  const auto known = a.t.acls.policy(next.id);
  if (known && c.fresh)
    return shown_row(a.t.acls, known);
  if (auto why = policy_name_error(next.name))
    return refusal{std::move(*why)};
  if (!known && !c.fresh)
    return refusal{is_uuid(next.id) ? "cannot find policy " + c.policy.id : "Policy ID invalid UUID"};
  if (a.t.acls.taken(next))
    return refusal{
        std::string(c.fresh ? "Invalid Policy: A Policy with Name " : "Invalid Policy: A policy with name ") +
        quoted(next.name) + " already exists"};
  if (auto why = policy_error(next))
    return refusal{std::move(*why)};
  return shown_row(a.t.acls,
                   store(a, std::move(next), known ? known->create_index : a.index, index_kind::acl_policies));
}

reply apply_access(applying& a, const acl_policy_delete& c) {
  const auto known = a.t.acls.policy(c.id);
  if (!known)
    return nothing_to_delete("policy", c.id);
  if (known->id == management_policy_id)
    return refusal{"Delete operation not permitted on the builtin global-management policy"};
  const auto policies_before = a.t.acls.policies().size();
  a.t.acls.erase_policy(known->id);
  INVARIANT(a.t.acls.policies().size() + 1 == policies_before);
  note(a, index_kind::acl_policies);
  return true;
}

reply apply_access(applying& a, const acl_role_set& c) {
  acl_role next = c.role;
  next.id = folded(next.id);
  const auto known = a.t.acls.role(next.id);
  if (known && c.fresh)
    return shown_row(a.t.acls, known);
  if (auto why = role_name_error(next.name))
    return refusal{std::move(*why)};
  if (!known && !c.fresh)
    return refusal{is_uuid(next.id) ? "cannot find role " + c.role.id : "Role ID invalid UUID"};
  if (a.t.acls.taken(next))
    return refusal{std::string(c.fresh ? "Invalid Role: A Role with Name " : "Invalid Role: A role with name ") +
                   quoted(next.name) + " already exists"};
  if (auto why = resolve_policies(a.t.acls, c.policies, next.policies))
    return refusal{std::move(*why)};
  if (auto why = role_error(next))
    return refusal{std::move(*why)};
  merge_identities(next);
  return shown_row(a.t.acls, store(a, std::move(next), known ? known->create_index : a.index, index_kind::acl_roles));
}

reply apply_access(applying& a, const acl_role_delete& c) {
  const auto known = a.t.acls.role(c.id);
  if (!known)
    return nothing_to_delete("role", c.id);
  const auto roles_before = a.t.acls.roles().size();
  a.t.acls.erase_role(known->id);
  INVARIANT(a.t.acls.roles().size() + 1 == roles_before);
  note(a, index_kind::acl_roles);
  return true;
}

reply apply_access(applying& a, const acl_token_set& c) {
  const auto known = a.t.acls.token(c.token.accessor);
  if (c.fresh && known && made_by(*known, c.token.secret, c.token.create_time_ns))
    return shown_row(a.t.acls, known);
  acl_token next = c.token;
  if (auto why = c.fresh ? begin_new(a, c, next) : keep_known(c, known, next))
    return refusal{std::move(*why)};
  if (auto why = resolve_policies(a.t.acls, c.policies, next.policies))
    return refusal{std::move(*why)};
  if (auto why = resolve_roles(a.t.acls, c.roles, next.roles))
    return refusal{std::move(*why)};
  if (auto why = identities_error(next))
    return refusal{std::move(*why)};
  merge_identities(next);
  return shown_row(a.t.acls, store(a, std::move(next), known ? known->create_index : a.index, index_kind::acl_tokens));
}

reply apply_access(applying& a, const acl_token_clone& c) {
  if (const auto again = a.t.acls.token(c.accessor); again && made_by(*again, c.secret, c.time_ns))
    return shown_row(a.t.acls, again);
  const auto known = a.t.acls.token(c.of);
  if (!known)
    return id_refused("token", c.of).value_or(refusal{"ACL not found"});
  for (const auto& [what, id] : {std::pair{"AccessorID", &c.accessor}, std::pair{"SecretID", &c.secret}})
    if (auto why = new_id_error(a.t.acls, what, *id))
      return refusal{std::move(*why)};
  acl_token next = *known;
  next.accessor = folded(c.accessor);
  next.secret = c.secret;
  next.create_time_ns = c.time_ns;
  if (c.description)
    next.description = *c.description;
  return shown_row(a.t.acls, store(a, std::move(next), a.index, index_kind::acl_tokens));
}

reply apply_access(applying& a, const acl_token_delete& c) {
  const auto known = a.t.acls.token(c.accessor);
  if (!known)
    return true;
  if (known->accessor == anonymous_accessor)
    return refusal{"Delete operation not permitted on the anonymous token"};
  const auto tokens_before = a.t.acls.tokens().size();
  a.t.acls.erase_token(known->accessor);
  INVARIANT(a.t.acls.tokens().size() + 1 == tokens_before);
  note(a, index_kind::acl_tokens);
  return true;
}

void expire_tokens(applying& a) {
  if (a.t.acls.expire(a.now))
    note(a, index_kind::acl_tokens);
}

} // namespace belay::state
