#pragma once
// Commands about ACLs for tests of the checkers, with one letter or digit for each ID.

#include "tests/sim/written_log.hpp"

namespace belay::sim {

inline std::string acl_id(char c) {
  return std::string(8, c) + "-0000-0000-0000-000000000000";
}

/// A request with ACLs in force, by default with default deny.
inline state::auth_context as(std::string secret, bool allowed_by_default = false) {
  return {std::move(secret), allowed_by_default, "dc1"};
}
template <class Question>
Question on_behalf_of(std::string secret, Question q, bool allowed_by_default = false) {
  q.by = as(std::move(secret), allowed_by_default);
  return q;
}

inline state::command begin_acls() {
  return state::acl_initialize{"master", acl_id('0'), 1};
}
inline state::command make_policy(char id, std::string rules, bool fresh = true) {
  state::acl_policy_set c;
  c.policy.id = acl_id(id);
  c.policy.name = std::string("p") + id;
  c.policy.rules = std::move(rules);
  c.fresh = fresh;
  return c;
}
inline state::command remove_policy(char id) {
  return state::acl_policy_delete{acl_id(id)};
}
inline state::command make_role(char id, std::string policies, bool fresh = true) {
  state::acl_role_set c;
  c.role.id = acl_id(id);
  c.role.name = std::string("r") + id;
  for (const auto p : policies)
    c.policies.push_back({acl_id(p), {}});
  c.fresh = fresh;
  return c;
}
/// Its secret is that letter.
inline state::command make_token(char id, std::string policies, std::string roles = {}, std::int64_t lives_ms = 0,
                                 bool fresh = true) {
  state::acl_token_set c;
  c.token.accessor = acl_id(id);
  c.token.secret = fresh ? std::string(1, id) : std::string();
  for (const auto p : policies)
    c.policies.push_back({acl_id(p), {}});
  for (const auto r : roles)
    c.roles.push_back({acl_id(r), {}});
  c.lives_ns = lives_ms * 1'000'000;
  c.fresh = fresh;
  return c;
}
inline state::command remove_token(char id) {
  return state::acl_token_delete{acl_id(id)};
}

} // namespace belay::sim
