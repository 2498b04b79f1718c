#pragma once
// How policies, roles and tokens are made, changed and removed, and with which texts that is refused (docs/contract/10, section 5).
// Whether somebody may do it was decided before. What a request alone can tell was checked where it came in; here it is checked
// once more, because a command may come from another server.
//
// A command that is applied a second time, because nobody knew whether it had been applied, is answered like the first time.

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

/// Why it is refused for having been done before; nullopt: it is not, or it is the same command once more.
std::optional<std::string> bootstrap_refusal(const tables& t, const acl_bootstrap& c);

/// Removes tokens that are over at `a.now`.
void expire_tokens(applying& a);

} // namespace belay::state
