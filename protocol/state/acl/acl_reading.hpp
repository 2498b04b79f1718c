#pragma once
// Evaluates queries on policies, roles, tokens (docs/contract/10, section 5), ignoring permissions.

#include "protocol/state/acl/acl_table.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/state/queries.hpp"

namespace belay::state {

/// The links of `ids` with their current names. Omits dangling links, as Consul does.
/// @param find returns the row of an id, or null
template <class Find>
std::vector<acl_link> links_to(const std::vector<std::string>& ids, Find find) {
  std::vector<acl_link> links;
  for (const auto& id : ids)
    if (const auto row = find(id))
      links.push_back({row->id, row->name});
  return links;
}
/// The row with its links. The table has the members policy() and role() of acl_table.
template <class Table>
acl_row shown_row(const Table&, acl_policy_ptr row) {
  return {std::move(row), {}, {}};
}
template <class Table>
acl_row shown_row(const Table& t, acl_role_ptr row) {
  auto policies = links_to(row->policies, [&](const auto& id) { return t.policy(id); });
  return {std::move(row), std::move(policies), {}};
}
template <class Table>
acl_row shown_row(const Table& t, acl_token_ptr row) {
  auto policies = links_to(row->policies, [&](const auto& id) { return t.policy(id); });
  auto roles = links_to(row->roles, [&](const auto& id) { return t.role(id); });
  return {std::move(row), std::move(policies), std::move(roles)};
}

/// Whether the list has that row.
bool is_listed(const acl_policy_list& q, const acl_policy& row);
bool is_listed(const acl_role_list& q, const acl_role& row);
bool is_listed(const acl_token_list& q, const acl_token& row);
bool is_listed(const acl_legacy_list& q, const acl_token& row);

/// Consul's text for a malformed id; nullopt: it is valid.
/// @param kind "policy", "role" or "token"
std::optional<refusal> id_refused(std::string_view kind, std::string_view id);
std::optional<refusal> id_refused(const acl_policy_read& q);
std::optional<refusal> id_refused(const acl_role_read& q);
std::optional<refusal> id_refused(const acl_token_read& q);
template <class Query>
std::optional<refusal> id_refused(const Query&) {
  return std::nullopt;
}

/// The row that the query names, if it exists.
acl_rows access_rows(const acl_table& t, const acl_policy_read& q);
acl_rows access_rows(const acl_table& t, const acl_role_read& q);
acl_rows access_rows(const acl_table& t, const acl_token_read& q);
// All rows, ordered by ID.
acl_rows access_rows(const acl_table& t, const acl_policy_list& q);
acl_rows access_rows(const acl_table& t, const acl_role_list& q);
acl_rows access_rows(const acl_table& t, const acl_token_list& q);
acl_rows access_rows(const acl_table& t, const acl_legacy_list& q);
/// No row: the server itself has no token.
acl_rows access_rows(const acl_table& t, const acl_token_self& q);

/// Index of the last change of the table that the query reads.
log_index access_index(const counters& indexes, const acl_policy_read& q);
log_index access_index(const counters& indexes, const acl_policy_list& q);
log_index access_index(const counters& indexes, const acl_role_read& q);
log_index access_index(const counters& indexes, const acl_role_list& q);
log_index access_index(const counters& indexes, const acl_token_read& q);
log_index access_index(const counters& indexes, const acl_token_list& q);
log_index access_index(const counters& indexes, const acl_legacy_list& q);
log_index access_index(const counters& indexes, const acl_token_self& q);

} // namespace belay::state
