#include "protocol/state/acl/acl_reading.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

namespace belay::state {

namespace {

template <class Row>
acl_rows one(const acl_table& t, Row row) {
  acl_rows found{{}, true};
  if (row)
    found.list.push_back(shown_row(t, std::move(row)));
  return found;
}

template <class Row, class Query>
acl_rows all(const acl_table& t, const undo_logged_map<Row>& rows, const Query& q) {
  acl_rows found{{}, true};
  for (const auto& each : rows)
    if (is_listed(q, *each.value.row))
      found.list.push_back(shown_row(t, each.value.row));
  return found;
}

/// Ordered by secret, as in Consul. The order reveals nothing to a client
/// that may not read secrets: it sees no other secret to compare with.
template <class Query>
acl_rows tokens(const acl_table& t, const Query& q) {
  auto found = all(t, t.tokens(), q);
  const auto secret = [](const acl_row& r) -> const std::string& { return std::get<acl_token_ptr>(r.row)->secret; };
  std::sort(found.list.begin(), found.list.end(),
            [&](const acl_row& a, const acl_row& b) { return secret(a) < secret(b); });
  return found;
}

/// `wanted` empty: any.
bool is_linked(const std::vector<std::string>& ids, const std::string& wanted) {
  return wanted.empty() || std::find(ids.begin(), ids.end(), folded(wanted)) != ids.end();
}

/// Consul gives its built-in tokens the old type `management` until the new API changes them.
/// Belay has no mark: a token that looks like them has the type, too, which is true of it.
bool has_legacy_type(const acl_token& t) {
  return t.create_index == t.modify_index && !t.local && t.roles.empty() && t.service_identities.empty() &&
         t.node_identities.empty() && t.policies == std::vector<std::string>{std::string(management_policy_id)} &&
         (t.description == master_description || t.description == bootstrap_description);
}

} // namespace

bool is_listed(const acl_policy_list&, const acl_policy&) {
  return true;
}
bool is_listed(const acl_role_list& q, const acl_role& row) {
  return is_linked(row.policies, q.policy);
}
bool is_listed(const acl_token_list& q, const acl_token& row) {
  return is_linked(row.policies, q.policy) && is_linked(row.roles, q.role);
}
bool is_listed(const acl_legacy_list&, const acl_token& row) {
  return has_legacy_type(row);
}

std::optional<refusal> id_refused(std::string_view kind, std::string_view id) {
  if (id.size() == uuid_characters)
    return std::nullopt;
  return refusal{"failed acl " + std::string(kind) + " lookup: index error: UUID must be 36 characters"};
}
std::optional<refusal> id_refused(const acl_policy_read& q) {
  return q.which.id.empty() ? std::nullopt : id_refused("policy", q.which.id);
}
std::optional<refusal> id_refused(const acl_role_read& q) {
  return q.which.id.empty() ? std::nullopt : id_refused("role", q.which.id);
}
std::optional<refusal> id_refused(const acl_token_read& q) {
  return id_refused("token", q.accessor);
}

acl_rows access_rows(const acl_table& t, const acl_policy_read& q) {
  return one(t, q.which.id.empty() ? t.policy_named(q.which.name) : t.policy(q.which.id));
}
acl_rows access_rows(const acl_table& t, const acl_role_read& q) {
  return one(t, q.which.id.empty() ? t.role_named(q.which.name) : t.role(q.which.id));
}
acl_rows access_rows(const acl_table& t, const acl_token_read& q) {
  return one(t, t.token(q.accessor));
}
acl_rows access_rows(const acl_table& t, const acl_policy_list& q) {
  return all(t, t.policies(), q);
}
acl_rows access_rows(const acl_table& t, const acl_role_list& q) {
  return all(t, t.roles(), q);
}
acl_rows access_rows(const acl_table& t, const acl_token_list& q) {
  return tokens(t, q);
}
acl_rows access_rows(const acl_table& t, const acl_legacy_list& q) {
  return tokens(t, q);
}
acl_rows access_rows(const acl_table&, const acl_token_self&) {
  return {{}, true};
}

log_index access_index(const counters& indexes, const acl_policy_read&) {
  return indexes.at(index_kind::acl_policies);
}
log_index access_index(const counters& indexes, const acl_policy_list&) {
  return indexes.at(index_kind::acl_policies);
}
log_index access_index(const counters& indexes, const acl_role_read&) {
  return indexes.at(index_kind::acl_roles);
}
log_index access_index(const counters& indexes, const acl_role_list&) {
  return indexes.at(index_kind::acl_roles);
}
log_index access_index(const counters& indexes, const acl_token_read&) {
  return indexes.at(index_kind::acl_tokens);
}
log_index access_index(const counters& indexes, const acl_token_list&) {
  return indexes.at(index_kind::acl_tokens);
}
log_index access_index(const counters& indexes, const acl_legacy_list&) {
  return indexes.at(index_kind::acl_tokens);
}
log_index access_index(const counters& indexes, const acl_token_self&) {
  return indexes.at(index_kind::acl_tokens);
}

} // namespace belay::state
