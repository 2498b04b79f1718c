#pragma once
// How policies, roles and tokens are made, changed and removed, and with which texts that is refused (docs/contract/10, section 5).
// Whether somebody may do it was decided before. What a request alone can tell was checked where it came in; here it is checked
// once more, because a command may come from another server.
//
// A command that is applied a second time, because nobody knew whether it had been applied, is answered like the first time.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// The rules of global-management, word for word as Consul has them.
extern const std::string_view management_rules_text;

reply apply_access(applying& a, const acl_initialize& c);
reply apply_access(applying& a, const acl_bootstrap& c);
reply apply_access(applying& a, const acl_policy_set& c);
reply apply_access(applying& a, const acl_policy_delete& c);
reply apply_access(applying& a, const acl_role_set& c);
reply apply_access(applying& a, const acl_role_delete& c);
reply apply_access(applying& a, const acl_token_set& c);
reply apply_access(applying& a, const acl_token_clone& c);
reply apply_access(applying& a, const acl_token_delete& c);

/// Removes tokens that are over at `a.now`.
void expire_tokens(applying& a);

/// The row with the names that its links have now. Links to what is gone are left out, as Consul does when it shows them.
acl_row shown_row(const acl_table& t, acl_policy_ptr row);
acl_row shown_row(const acl_table& t, acl_role_ptr row);
acl_row shown_row(const acl_table& t, acl_token_ptr row);

// What is wrong with a record in itself; nullopt: nothing. Also asked of the rows of archives.

std::optional<std::string> policy_error(const acl_policy& policy);
std::optional<std::string> role_error(const acl_role& role);
/// Of the identities of a token.
std::optional<std::string> identities_error(const acl_token& token);

} // namespace belay::state
