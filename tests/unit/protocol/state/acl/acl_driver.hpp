#pragma once
// A state machine with policies and tokens, used on behalf of tokens.

#include "protocol/base/mutants.hpp"
#include "tests/harness/failing_invariants.hpp"
#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

namespace belay::state {

inline const std::string management_secret = "the master's";

class acl_driver : public driver {
public:
  /// `true` is Consul's default: what no rule covers is permitted.
  bool allowed_by_default = false;

  acl_driver() { apply(acl_initialize{management_secret, uuid(1), 1'000}); }

  auth_context by(const std::string& secret) const { return {secret, allowed_by_default, "dc1"}; }

  reply apply_as(const std::string& secret, command c) {
    c.by = by(secret);
    return apply(c);
  }
  /// Empty: it was carried out.
  std::string denied(const std::string& secret, command c) { return refused(apply_as(secret, std::move(c))); }

  query_result ask(const std::string& secret, query q) const {
    q.by = by(secret);
    return m.evaluate(q, now);
  }
  /// Empty: it is answered.
  std::string refused_read(const std::string& secret, query q) const {
    const auto answer = ask(secret, std::move(q));
    const auto* why = std::get_if<refusal>(&answer.data);
    return why ? why->text : std::string();
  }
  template <class Data>
  Data read(const std::string& secret, query q) const {
    return std::get<Data>(ask(secret, std::move(q)).data);
  }
  bool may(const std::string& secret, permission_needed n) const {
    return read<permissions>(secret, permissions_read{{std::move(n)}}).allowed.at(0);
  }

  /// Creates or updates a policy; a fresh ID for each call. @returns the reply
  reply set_policy(const std::string& name, const std::string& rules) {
    acl_policy_set c;
    c.policy.id = uuid(++newest_id_);
    c.policy.name = name;
    c.policy.rules = rules;
    c.fresh = true;
    return apply(c);
  }
  reply set_role(const std::string& name, std::vector<acl_link> policies) {
    acl_role_set c;
    c.role.id = uuid(++newest_id_);
    c.role.name = name;
    c.policies = std::move(policies);
    c.fresh = true;
    return apply(c);
  }
  acl_token_set new_token(std::vector<acl_link> policies = {}, std::int64_t lives_ms = 0) {
    acl_token_set c;
    c.token.accessor = uuid(++newest_id_);
    c.token.secret = uuid(++newest_id_);
    c.token.create_time_ns = newest_id_;
    c.policies = std::move(policies);
    c.lives_ns = lives_ms * 1'000'000;
    if (lives_ms != 0)
      c.token.expiration_time_ns = c.token.create_time_ns + c.lives_ns;
    c.fresh = true;
    return c;
  }
  /// The secret of a new token with one policy of these rules.
  std::string token(const std::string& rules, std::int64_t lives_ms = 0) {
    const auto name = "p" + std::to_string(++newest_id_);
    REQUIRE(refused(set_policy(name, rules)).empty());
    const auto c = new_token({{"", name}}, lives_ms);
    REQUIRE(refused(apply(c)).empty());
    return c.token.secret;
  }
  acl_token_ptr token_of(const std::string& accessor) const {
    const auto found = std::get<acl_rows>(m.evaluate(acl_token_read{accessor}).data).list;
    return found.empty() ? nullptr : std::get<acl_token_ptr>(found.front().row);
  }
  std::size_t token_count() const { return std::get<acl_rows>(m.evaluate(acl_token_list{}).data).list.size(); }
  std::string accessor_of(const std::string& secret) const {
    const auto all = std::get<acl_rows>(m.evaluate(acl_token_list{}).data);
    for (const auto& row : all.list)
      if (std::get<acl_token_ptr>(row.row)->secret == secret)
        return std::get<acl_token_ptr>(row.row)->accessor;
    return {};
  }
  bool access_change_sent() const {
    return std::any_of(changed.begin(), changed.end(),
                       [](const effect& e) { return std::holds_alternative<access_changed>(e); });
  }

private:
  int newest_id_ = 100;
};

inline const acl_token& token_in(const reply& r) {
  return *std::get<acl_token_ptr>(std::get<acl_row>(r).row);
}
inline const acl_policy& policy_in(const reply& r) {
  return *std::get<acl_policy_ptr>(std::get<acl_row>(r).row);
}
inline const acl_role& role_in(const reply& r) {
  return *std::get<acl_role_ptr>(std::get<acl_row>(r).row);
}

/// The names of the rows in the result of a query.
inline std::vector<std::string> names_in(const acl_rows& rows) {
  std::vector<std::string> names;
  for (const auto& each : rows.list)
    std::visit(
        [&](const auto& row) {
          if constexpr (requires { row->name; })
            names.push_back(row->name);
          else
            names.push_back(row->accessor);
        },
        each.row);
  return names;
}

/// Whether `holds()` is true without the mutant, and false with it (if the build has mutants). An
/// invariant that stops the mutant detects it, too.
template <class Property>
bool detects_mutant(std::string_view name, Property holds) {
  const bool without = holds();
  const bool has = activate_mutant(name);
  bool with = false;
  try {
    const harness::failing_invariants throwing;
    with = has && holds();
  } catch (const std::logic_error&) { // an invariant, or the driver's recount, failed
  }
  activate_mutant("");
  return without && !with;
}

} // namespace belay::state
