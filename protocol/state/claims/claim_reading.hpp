#pragma once
// Evaluates queries about claims, write guards and ended sessions
// (docs/reference/claims.md). protocol/state/acl/permissions.hpp filters the result.

#include "protocol/state/tables.hpp"

#include <algorithm>
#include <functional>

namespace belay::state {

claim_view claims_answer(const tables& t, const claim_read& q);
claim_standing claims_answer(const tables& t, const claim_status& q);
claim_rows claims_answer(const tables& t, const claims_list& q);
wait_graph claims_answer(const tables& t, const claims_graph& q);
guard_rows claims_answer(const tables& t, const guards_list& q);
ended_session_rows claims_answer(const tables& t, const session_ended& q);

/// One page of visible claims. The next starts after the last visible one: hides the others.
claim_rows listed_claims(const tables& t, const claims_list& q,
                         const std::function<bool(const claim_record&)>& may_be_seen);

/// Adds a visible claim to a page, unless an earlier page has it.
/// @param node_of node of a session
/// @returns false: the page is full
template <class NodeOf>
bool add_to_page(claim_rows& page, const claims_list& q, const claim_ptr& c, const NodeOf& node_of) {
  if (c->key <= q.after)
    return true;
  if (page.list.size() >= std::min(q.rows_max, listed_claims_max)) {
    page.next = page.list.empty() ? q.after : page.list.back().claim->key;
    return false;
  }
  page.list.push_back({c, node_of(c->session), 0});
  return true;
}

/// Zero: nothing of this kind has changed yet.
log_index claims_index(const tables& t, const claim_read& q);
log_index claims_index(const tables& t, const claim_status& q);
log_index claims_index(const tables& t, const claims_list& q);
log_index claims_index(const tables& t, const claims_graph& q);
log_index claims_index(const tables& t, const guards_list& q);
log_index claims_index(const tables& t, const session_ended& q);

/// Status of the claim. @pre it is in the table
claim_answer standing_of(const tables& t, const claim_record& c);
/// Status of the holder of that key's lock. @pre it is held
claim_answer standing_of(const kv_entry& held);

} // namespace belay::state
