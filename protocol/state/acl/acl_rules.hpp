#pragma once
// How policies, roles and tokens are created, changed and removed, with the texts of refusals
// (docs/contract/10, section 5). Permissions were checked before. What depends on the request alone
// was validated on arrival; it is validated again, as a command may come from another server.
//
// A command that is repeated, because its outcome was unknown, gets the same reply as before.

#include "protocol/state/tables.hpp"

namespace belay::state {

reply apply_access(applying& a, const acl_initialize& c);
reply apply_access(applying& a, const acl_bootstrap& c);
reply apply_access(applying& a, const acl_policy_set& c);
reply apply_access(applying& a, const acl_policy_delete& c);
reply apply_access(applying& a, const acl_role_set& c);
reply apply_access(applying& a, const acl_role_delete& c);
reply apply_access(applying& a, const acl_token_set& c);
reply apply_access(applying& a, const acl_token_clone& c);
reply apply_access(applying& a, const acl_token_delete& c);

/// Why it is rejected as done before; nullopt: it is not, or it repeats the same command.
std::optional<std::string> bootstrap_refusal(const tables& t, const acl_bootstrap& c);

/// Removes tokens that have expired at `a.now`.
void expire_tokens(applying& a);

} // namespace belay::state
