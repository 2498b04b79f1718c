#pragma once
// Decodes policies, roles, tokens and permission questions of clients (docs/contract/10, section
// 5). Errors are the texts of Go's decoder. The state machine validates names and links.

#include "protocol/base/result.hpp"
#include "protocol/go_compat/timestamp.hpp"
#include "protocol/state/commands.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

result<state::acl_policy> read_acl_policy(std::string_view body);

struct role_input {
  state::acl_role role;
  std::vector<state::acl_link> policies;
};
result<role_input> read_acl_role(std::string_view body);

struct token_input {
  state::acl_token token; ///< accessor, secret, description, local, identities
  std::vector<state::acl_link> policies, roles;
  std::int64_t ttl_ns = 0; ///< may be negative; 0: not given
  std::optional<go_compat::timestamp> expiration;
  std::string rules, auth_method; ///< unsupported here
};
result<token_input> read_acl_token(std::string_view body);

/// An element of the body of `POST /v1/internal/acl/authorize`.
struct authorization_input {
  std::string resource, segment, access;
};
result<std::vector<authorization_input>> read_authorizations(std::string_view body);
/// The error names the unknown resource or access, in Consul's words.
result<state::permission_needed> permission_of(const authorization_input& requested);
/// The inverse. `access` becomes lower case.
authorization_input requested_by(const state::permission_needed& p);

} // namespace belay::http
