#pragma once
// What may be written and seen in somebody's name (docs/contract/10, sections 3 and 4). Where Consul goes by what a request says of itself,
// these go by the rows, too: whoever writes over a row, or takes it away, needs the permission for what was there.

#include "protocol/state/acl/later_permissions.hpp"
#include "protocol/state/tables.hpp"

namespace belay::state {

inline constexpr std::string_view acl_not_found = "ACL not found";
inline constexpr std::string_view acl_reserved = "Cannot resolve root ACL";

/// What is told who asks for something; nullopt: he may have it.
inline std::optional<std::string> denied_unless(bool allowed) {
  return allowed ? std::nullopt : std::optional<std::string>(permission_denied);
}

/// Why the command is not carried out in the name in which it is given; nullopt: it may be. A transaction is answered with an
/// error for each operation that is refused. Tokens that expire at or before `now` open nothing.
std::optional<reply> refused_to(const tables& t, const command& c, cluster_time now);

/// The same before the command is proposed: rules that came with 0.3.0 are added, which apply() cannot have, because it decides entries of
/// 0.2.0 as 0.2.0 did. Whether a fence is valid shows in the answer, so its lock or claim has to be readable, as in a transaction. A
/// transaction that writes fails if a row is missing that it gets, so that row has to be readable. A token to which nothing is permitted keeps no outcome.
std::optional<reply> refused_to_ask(const tables& t, const command& c, cluster_time now);

/// Why the query is not answered in the name in which it is asked; nullopt: it is, perhaps with fewer rows.
std::optional<refusal> refused_to(const tables& t, const query& q, cluster_time now);

/// What the rows that he may see are judged by; null: a query in that name is refused (refused_to).
std::shared_ptr<const acl::authorizer> authorizer_of(const tables& t, const authority& by, cluster_time now);

/// The answer as he may see it in whose name the query is asked: a refusal, or what is left when the rows that he may not see are taken
/// out. The index stays: it counts what is hidden, too. Answers acl_token_self and permissions_read, which are about nothing else.
query_result visible_answer(const tables& t, const query& q, cluster_time now);
/// Takes out of the results of a transaction that was carried out what he may not see who asked for it.
void keep_visible(const tables& t, const authority& by, cluster_time now, txn_reply& answer);
/// Hides the names in a cycle that he may not read (docs/claims.md, rule 32).
void keep_visible(const tables& t, const authority& by, cluster_time now, claim_refusal& answer);

} // namespace belay::state
