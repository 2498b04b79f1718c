#pragma once
// The rules of one ACL policy, for keys, sessions, nodes etc., parsed from its text
// (docs/contract/10, section 2). protocol/acl/authorizer.hpp combines several policies.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::acl {

/// What a rule grants: each includes those before it, except deny (nothing). `list`: only for keys.
enum class permission : std::uint8_t { deny, read, list, write };

/// Resources of named rules. Rules for agents and sessions have the name of a node.
enum class resource : std::uint8_t { agent, key, node, service, session, event, query };
constexpr std::size_t resource_count = 7;

/// `key "a"` is for the key a alone, `key_prefix "a"` for all names that begin with a: a, a/b, ab.
enum class match : std::uint8_t { exact, prefix };

struct rule {
  resource on = resource::key;
  match by = match::exact;
  std::string name;
  permission policy = permission::deny;

  bool operator==(const rule&) const = default;
};

/// Empty where the policy has no rule.
struct rules {
  std::vector<rule> named; ///< a name may have several rules: `prevailing` decides
  std::optional<permission> on_acl;
  std::optional<permission> on_keyring;
  std::optional<permission> on_operator;

  bool operator==(const rules&) const = default;
};

/// Which of two rules for a thing counts: deny, else the larger. docs/contract/10, section 2.
constexpr permission prevailing(permission a, permission b) {
  return a == permission::deny || b == permission::deny ? permission::deny : a < b ? b : a;
}

/// Whether a rule with `policy` grants `needed`. @pre needed is not deny
constexpr bool grants(permission policy, permission needed) {
  return policy != permission::deny && policy >= needed;
}

/// Reads the parsed document of a policy. Ignores words without meaning here (`sentinel`, `mesh`);
/// validates and ignores `intentions` of services. docs/contract/10, sections 2.1 and 2.2.
/// The error is Consul's: `Failed to parse ACL rules: At 1:7: ...` for a value of the wrong
/// type (its line and column), `Invalid key policy: &acl.KeyRule{...}` for an unknown policy.
/// Cost is proportional to the document.
result<rules> read_rules(const hcl::object& document);

/// The same for a text in HCL or JSON, within hcl::limits; otherwise `Failed to
/// parse ACL rules: ...` with the parser's error. An empty text has no rules.
result<rules> read_rules(std::string_view text);

} // namespace belay::acl
