#pragma once
// What a token may write and see (docs/contract/10, sections 3 and 4). Consul checks the request
// alone; Belay also checks the rows: to overwrite or remove one needs permission for the old row.

#include "protocol/state/acl/later_permissions.hpp"
#include "protocol/state/tables.hpp"

namespace belay::state {

inline constexpr std::string_view acl_not_found = "ACL not found";
inline constexpr std::string_view acl_reserved = "Cannot resolve root ACL";

/// Error text of a request; nullopt: it is permitted.
inline std::optional<std::string> denied_unless(bool allowed) {
  return allowed ? std::nullopt : std::optional<std::string>(permission_denied);
}

/// Why the command is not permitted; nullopt: it is. For a transaction, one error for
/// each forbidden operation. Tokens that expire at or before `now` grant nothing.
std::optional<reply> refused_to(const tables& t, const command& c, cluster_time now);

/// The same before proposing, with rules of 0.3.0 that apply() cannot have: it decides entries of
/// 0.2.0 as 0.2.0 did. The lock or claim of a fencing token must be readable, because the reply
/// shows whether the token is valid. So must rows that a writing transaction gets, because it fails
/// if they are missing. No outcome is kept for a token without permission.
std::optional<reply> refused_to_ask(const tables& t, const command& c, cluster_time now);

/// Why the query is not permitted; nullopt: it is, perhaps with fewer rows.
std::optional<refusal> refused_to(const tables& t, const query& q, cluster_time now);

/// The permissions that filter its rows; null: a query in that auth context is rejected
/// (refused_to).
std::shared_ptr<const acl::authorizer> authorizer_of(const tables& t, const auth_context& by, cluster_time now);

/// Whether lists include the row for a token with these permissions.
bool may_see(const acl::authorizer& may, const kv_entry& row);
bool may_see(const acl::authorizer& may, const session_record& row);
bool may_see(const acl::authorizer& may, const node_record& row);
bool may_see(const acl::authorizer& may, const service_record& row);
bool may_see(const acl::authorizer& may, const check_record& row);
bool may_see(const acl::authorizer& may, const service_instance& row);

/// The result that the query's token may see: a refusal, or the rows without hidden ones. The index
/// also counts hidden rows. Evaluates acl_token_self and permissions_read, which need nothing else.
query_result visible_answer(const tables& t, const query& q, cluster_time now);
/// Removes what the token may not see from the results of a committed transaction.
void keep_visible(const tables& t, const auth_context& by, cluster_time now, txn_reply& answer);
/// Hides names in a cycle that the token may not read (docs/reference/claims.md, rule 32).
void keep_visible(const tables& t, const auth_context& by, cluster_time now, claim_refusal& answer);

} // namespace belay::state
