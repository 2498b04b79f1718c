#pragma once
// Evaluates queries on policies, roles, tokens (docs/contract/10, section 5), ignoring permissions.

#include "protocol/state/acl/acl_table.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/state/queries.hpp"

namespace belay::state {

/// The row with the current names of its links. Omits dangling links, as Consul does.
acl_row shown_row(const acl_table& t, acl_policy_ptr row);
acl_row shown_row(const acl_table& t, acl_role_ptr row);
acl_row shown_row(const acl_table& t, acl_token_ptr row);

/// Consul's text for a malformed id; nullopt: it is valid. @param kind "policy", "role" or "token"
std::optional<refusal> id_refused(std::string_view kind, std::string_view id);
std::optional<refusal> id_refused(const acl_policy_read& q);
std::optional<refusal> id_refused(const acl_role_read& q);
std::optional<refusal> id_refused(const acl_token_read& q);
template <class Query>
std::optional<refusal> id_refused(const Query&) {
  return std::nullopt;
}

/// At most one row.
acl_rows access_rows(const acl_table& t, const acl_policy_read& q);
acl_rows access_rows(const acl_table& t, const acl_role_read& q);
acl_rows access_rows(const acl_table& t, const acl_token_read& q);
// In the order of their IDs.
acl_rows access_rows(const acl_table& t, const acl_policy_list& q);
acl_rows access_rows(const acl_table& t, const acl_role_list& q);
acl_rows access_rows(const acl_table& t, const acl_token_list& q);
acl_rows access_rows(const acl_table& t, const acl_legacy_list& q);
/// No row: the server itself has no token.
acl_rows access_rows(const acl_table& t, const acl_token_self& q);

/// Index of the last change of the table that the query reads.
log_index access_index(const counters& marks, const acl_policy_read& q);
log_index access_index(const counters& marks, const acl_policy_list& q);
log_index access_index(const counters& marks, const acl_role_read& q);
log_index access_index(const counters& marks, const acl_role_list& q);
log_index access_index(const counters& marks, const acl_token_read& q);
log_index access_index(const counters& marks, const acl_token_list& q);
log_index access_index(const counters& marks, const acl_legacy_list& q);
log_index access_index(const counters& marks, const acl_token_self& q);

} // namespace belay::state
