#include "protocol/state/acl/acl_rules.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/golang/quoting.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

namespace belay::state {

const std::string_view management_rules_text = R"(
acl = "write"
agent_prefix "" {
	policy = "write"
}
event_prefix "" {
	policy = "write"
}
key_prefix "" {
	policy = "write"
}
keyring = "write"
node_prefix "" {
	policy = "write"
}
operator = "write"
query_prefix "" {
	policy = "write"
}
service_prefix "" {
	policy = "write"
	intentions = "write"
}
session_prefix "" {
	policy = "write"
})";

namespace {

using complaint = std::optional<std::string>;
using golang::quoted;

constexpr std::size_t policy_name_max = 128, role_name_max = 256, identity_name_max = 256;
constexpr std::int64_t ns_per_ms = 1'000'000;
/// Of the IDs of what is built in (agent/structs/acl.go of Consul).
constexpr std::string_view reserved_prefix = "00000000-0000-0000-0000-0000000000";

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_name(std::string_view name, std::size_t length_max) {
  return name.size() <= length_max && std::all_of(name.begin(), name.end(), [](char c) {
           return is_lower_or_digit(lower_case(c)) || c == '-' || c == '_';
         });
}
bool is_identity_name(std::string_view name) {
  return !name.empty() && name.size() <= identity_name_max && is_lower_or_digit(name.front()) &&
         is_lower_or_digit(name.back()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

/// @param kind "Policy" or "Role"
complaint name_error(const std::string& kind, std::string_view name, std::size_t length_max) {
  if (name.empty())
    return "Invalid " + kind + ": no Name is set";
  if (!is_name(name, length_max))
    return "Invalid " + kind + ": invalid Name. Only alphanumeric characters, '-' and '_' are allowed";
  return std::nullopt;
}

/// @param on "token" or "role"
template <class Holder>
complaint identities_error_of(const Holder& holder, const std::string& on, bool local) {
  for (const auto& each : holder.service_identities) {
    if (each.service_name.empty())
      return "Service identity is missing the service name field on this " + on;
    if (local && each.datacenters && !each.datacenters->empty())
      return "Service identity " + quoted(each.service_name) + " cannot specify a list of datacenters on a local token";
    if (!is_identity_name(each.service_name))
      return "Service identity " + quoted(each.service_name) +
             " has an invalid name. Only alphanumeric characters, '-' and '_' are allowed";
  }
  for (const auto& each : holder.node_identities) {
    if (each.node_name.empty())
      return "Node identity is missing the node name field on this " + on;
    if (each.datacenter.empty())
      return "Node identity is missing the datacenter field on this " + on;
    if (!is_identity_name(each.node_name))
      return complaint("Node identity has an invalid name. Only alphanumeric characters, '-' and '_' are allowed");
  }
  return std::nullopt;
}

/// Each identity once, by name: of a service in all datacenters that were named, of a node for each datacenter.
template <class Holder>
void merge_identities(Holder& holder) {
  auto& services = holder.service_identities;
  std::stable_sort(services.begin(), services.end(),
                   [](const auto& x, const auto& y) { return x.service_name < y.service_name; });
  std::vector<service_identity> merged;
  for (auto& each : services) {
    if (merged.empty() || merged.back().service_name != each.service_name) {
      merged.push_back(std::move(each));
      continue;
    }
    auto& known = merged.back().datacenters;
    if (!known || known->empty() || !each.datacenters || each.datacenters->empty()) {
      known.reset();
      continue;
    }
    known->insert(known->end(), each.datacenters->begin(), each.datacenters->end());
    std::sort(known->begin(), known->end());
    known->erase(std::unique(known->begin(), known->end()), known->end());
  }
  services = std::move(merged);
  auto& nodes = holder.node_identities;
  std::sort(nodes.begin(), nodes.end(), [](const auto& x, const auto& y) {
    return std::tie(x.node_name, x.datacenter) < std::tie(y.node_name, y.datacenter);
  });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

/// The IDs of what the links name, each once. @param find_named,find look one up by its name, by its ID
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

// ---- changes: every one moves the index of its table and has those judged again who wait

void note(applying& a, mark m) {
  a.t.marks.set(m, a.index);
  a.changed.push_back(access_changed{});
}

template <class Record>
std::shared_ptr<const Record> store(applying& a, Record row, log_index created, mark m) {
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
  // Its name may have been given away while there was none: after a restore of an archive without policies.
  while (a.t.acls.taken(all))
    all.name += "-builtin";
  all.description = "Builtin Policy that grants unlimited access";
  all.rules = management_rules_text;
  store(a, std::move(all), a.index, mark::acl_policies);
}

acl_token management_token(std::string_view accessor, std::string_view secret, const char* description,
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

/// What the accessor or the secret of a new token is like. @param what "AccessorID" or "SecretID"
complaint new_id_error(const acl_table& t, const std::string& what, const std::string& id) {
  if (!is_uuid(id))
    return "Invalid Token: " + what + " is not a valid UUID";
  if (t.token(id) || t.token_with_secret(id))
    return "Invalid Token: " + what + " is already in use";
  if (starts_with(folded(id), reserved_prefix))
    return "Invalid Token: UUIDs with the prefix " + quoted(reserved_prefix) + " are reserved";
  return std::nullopt;
}

/// The same command was applied before: nobody else knows the secret, and no two requests come at the same nanosecond.
bool made_by(const acl_token& known, std::string_view secret, std::int64_t create_time_ns) {
  return known.secret == secret && known.create_time_ns == create_time_ns;
}

cluster_time end_of(cluster_time now, std::int64_t lives_ns) {
  if (lives_ns == 0)
    return {};
  return cluster_time{now.value + static_cast<std::uint64_t>(lives_ns / ns_per_ms + (lives_ns % ns_per_ms != 0))};
}

/// A wall-clock time that was given must be the one that the token has.
complaint changed_end(const acl_token_set& c, const acl_token& known) {
  if (c.lives_ns != 0 || (c.token.expiration_time_ns != 0 && c.token.expiration_time_ns != known.expiration_time_ns))
    return "Cannot change expiration time of " + c.token.accessor;
  return std::nullopt;
}

/// What a token that is there keeps, and what it must not change.
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
  next.accessor = folded(c.token.accessor);
  next.expires = end_of(a.now, c.lives_ns);
  if (c.lives_ns == 0)
    next.expiration_time_ns = 0;
  return std::nullopt;
}

} // namespace

// ---- what is wrong with a record in itself

std::optional<std::string> policy_error(const acl_policy& policy) {
  if (auto why = name_error("Policy", policy.name, policy_name_max))
    return why;
  if (!is_uuid(policy.id))
    return "Policy ID invalid UUID";
  if (policy.id == management_policy_id && policy.datacenters)
    return "Changing the Datacenters of the builtin global-management policy is not permitted";
  if (policy.id == management_policy_id && policy.rules != management_rules_text)
    return "Changing the Rules for the builtin global-management policy is not permitted";
  if (auto rules = acl::read_rules(policy.rules); !rules)
    return rules.error();
  return std::nullopt;
}

std::optional<std::string> role_error(const acl_role& role) {
  if (auto why = name_error("Role", role.name, role_name_max))
    return why;
  if (!is_uuid(role.id))
    return "Role ID invalid UUID";
  return identities_error_of(role, "role", false);
}

std::optional<std::string> identities_error(const acl_token& token) {
  return identities_error_of(token, "token", token.local);
}

// ---- commands

reply apply_access(applying& a, const acl_initialize& c) {
  ensure_management_policy(a);
  if (!a.t.acls.token(anonymous_accessor)) {
    acl_token nobody;
    nobody.accessor = anonymous_accessor;
    nobody.secret = anonymous_secret;
    nobody.description = "Anonymous Token";
    nobody.create_time_ns = c.time_ns;
    store(a, std::move(nobody), a.index, mark::acl_tokens);
  }
  if (c.master_secret.empty() || is_reserved_secret(c.master_secret) || a.t.acls.token_with_secret(c.master_secret) ||
      !is_uuid(c.master_accessor) || a.t.acls.token(c.master_accessor))
    return true;
  store(a, management_token(c.master_accessor, c.master_secret, "Master Token", c.time_ns), a.index, mark::acl_tokens);
  if (a.t.marks.at(mark::acl_bootstrap).is_zero())
    a.t.marks.set(mark::acl_bootstrap, a.index);
  return true;
}

reply apply_access(applying& a, const acl_bootstrap& c) {
  if (const auto known = a.t.acls.token(c.accessor); known && made_by(*known, c.secret, c.time_ns))
    return shown_row(a.t.acls, known);
  const auto last = a.t.marks.at(mark::acl_bootstrap);
  if (!last.is_zero() && c.reset_index.is_zero())
    return refusal{"Permission denied: ACL bootstrap no longer allowed (reset index: " + to_string(last) + ")"};
  if (!last.is_zero() && c.reset_index != last)
    return refusal{"Invalid bootstrap reset index (specified " + to_string(c.reset_index) +
                   ", reset index: " + to_string(last) + ")"};
  for (const auto& [what, id] : {std::pair{"AccessorID", &c.accessor}, std::pair{"SecretID", &c.secret}})
    if (auto why = new_id_error(a.t.acls, what, *id))
      return refusal{std::move(*why)};
  ensure_management_policy(a);
  auto row = store(a, management_token(c.accessor, c.secret, "Bootstrap Token (Global Management)", c.time_ns), a.index,
                   mark::acl_tokens);
  a.t.marks.set(mark::acl_bootstrap, a.index);
  return shown_row(a.t.acls, std::move(row));
}

reply apply_access(applying& a, const acl_policy_set& c) {
  acl_policy next = c.policy;
  next.id = folded(next.id);
  next.meaning = nullptr;
  const auto known = a.t.acls.policy(next.id);
  if (known && c.fresh)
    return shown_row(a.t.acls, known);
  if (auto why = name_error("Policy", next.name, policy_name_max))
    return refusal{std::move(*why)};
  if (!known && !c.fresh)
    return refusal{is_uuid(next.id) ? "cannot find policy " + c.policy.id : "Policy ID invalid UUID"};
  if (a.t.acls.taken(next))
    return refusal{
        std::string(c.fresh ? "Invalid Policy: A Policy with Name " : "Invalid Policy: A policy with name ") +
        quoted(next.name) + " already exists"};
  if (auto why = policy_error(next))
    return refusal{std::move(*why)};
  return shown_row(a.t.acls, store(a, std::move(next), known ? known->create_index : a.index, mark::acl_policies));
}

reply apply_access(applying& a, const acl_policy_delete& c) {
  const auto known = a.t.acls.policy(c.id);
  if (!known)
    return true;
  if (known->id == management_policy_id)
    return refusal{"Delete operation not permitted on the builtin global-management policy"};
  a.t.acls.erase_policy(known->id);
  note(a, mark::acl_policies);
  return true;
}

reply apply_access(applying& a, const acl_role_set& c) {
  acl_role next = c.role;
  next.id = folded(next.id);
  const auto known = a.t.acls.role(next.id);
  if (known && c.fresh)
    return shown_row(a.t.acls, known);
  if (auto why = name_error("Role", next.name, role_name_max))
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
  return shown_row(a.t.acls, store(a, std::move(next), known ? known->create_index : a.index, mark::acl_roles));
}

reply apply_access(applying& a, const acl_role_delete& c) {
  const auto known = a.t.acls.role(c.id);
  if (!known)
    return true;
  a.t.acls.erase_role(known->id);
  note(a, mark::acl_roles);
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
  return shown_row(a.t.acls, store(a, std::move(next), known ? known->create_index : a.index, mark::acl_tokens));
}

reply apply_access(applying& a, const acl_token_clone& c) {
  if (const auto again = a.t.acls.token(c.accessor); again && made_by(*again, c.secret, c.time_ns))
    return shown_row(a.t.acls, again);
  const auto known = a.t.acls.token(c.of);
  if (!known)
    return refusal{"ACL not found"};
  for (const auto& [what, id] : {std::pair{"AccessorID", &c.accessor}, std::pair{"SecretID", &c.secret}})
    if (auto why = new_id_error(a.t.acls, what, *id))
      return refusal{std::move(*why)};
  acl_token next = *known;
  next.accessor = folded(c.accessor);
  next.secret = c.secret;
  next.create_time_ns = c.time_ns;
  if (c.description)
    next.description = *c.description;
  return shown_row(a.t.acls, store(a, std::move(next), a.index, mark::acl_tokens));
}

reply apply_access(applying& a, const acl_token_delete& c) {
  const auto known = a.t.acls.token(c.accessor);
  if (!known)
    return true;
  if (known->accessor == anonymous_accessor)
    return refusal{"Delete operation not permitted on the anonymous token"};
  a.t.acls.erase_token(known->accessor);
  note(a, mark::acl_tokens);
  return true;
}

void expire_tokens(applying& a) {
  if (a.t.acls.expire(a.now))
    note(a, mark::acl_tokens);
}

// ---- what clients see

namespace {

template <class Find>
std::vector<acl_link> links_to(const std::vector<std::string>& ids, Find find) {
  std::vector<acl_link> links;
  for (const auto& id : ids)
    if (const auto row = find(id))
      links.push_back({row->id, row->name});
  return links;
}

} // namespace

acl_row shown_row(const acl_table&, acl_policy_ptr row) {
  return {std::move(row), {}, {}};
}
acl_row shown_row(const acl_table& t, acl_role_ptr row) {
  auto policies = links_to(row->policies, [&](const auto& id) { return t.policy(id); });
  return {std::move(row), std::move(policies), {}};
}
acl_row shown_row(const acl_table& t, acl_token_ptr row) {
  auto policies = links_to(row->policies, [&](const auto& id) { return t.policy(id); });
  auto roles = links_to(row->roles, [&](const auto& id) { return t.role(id); });
  return {std::move(row), std::move(policies), std::move(roles)};
}

} // namespace belay::state
