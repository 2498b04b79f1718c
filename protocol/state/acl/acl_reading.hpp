#pragma once
// Answers to queries about policies, roles and tokens (docs/contract/10, section 5), as the server itself sees them.

#include "protocol/state/acl/acl_table.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/state/queries.hpp"

namespace belay::state {

/// The row with the names that its links have now. Links to what is gone are left out, as Consul does when it shows them.
acl_row shown_row(const acl_table& t, acl_policy_ptr row);
acl_row shown_row(const acl_table& t, acl_role_ptr row);
acl_row shown_row(const acl_table& t, acl_token_ptr row);

/// Consul's words for an id that cannot be one; nullopt: it may be. @param kind "policy", "role" or "token"
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
/// None: in its own name the server has no token.
acl_rows access_rows(const acl_table& t, const acl_token_self& q);

/// When the table was changed that the query is about.
log_index access_index(const counters& marks, const acl_policy_read& q);
log_index access_index(const counters& marks, const acl_policy_list& q);
log_index access_index(const counters& marks, const acl_role_read& q);
log_index access_index(const counters& marks, const acl_role_list& q);
log_index access_index(const counters& marks, const acl_token_read& q);
log_index access_index(const counters& marks, const acl_token_list& q);
log_index access_index(const counters& marks, const acl_legacy_list& q);
log_index access_index(const counters& marks, const acl_token_self& q);

} // namespace belay::state
