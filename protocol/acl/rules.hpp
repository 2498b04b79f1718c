#pragma once
// What one ACL policy says: rules for keys, sessions, nodes and so on, read from its text (docs/contract/10, section
// 2). What several policies allow together is decided in protocol/acl/authorizer.hpp.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::acl {

/// What a rule grants: each includes those before it, but for deny, which grants nothing. `list` is only said of keys.
enum class permission : std::uint8_t { deny, read, list, write };

/// What rules that name something are about. The name of an agent or a session's rule is that of a node.
enum class resource : std::uint8_t { agent, key, node, service, session, event, query };
constexpr std::size_t resource_count = 7;

/// `key "a"` is about the key a alone, `key_prefix "a"` about all names that begin with a, as strings: a, a/b, ab.
enum class match : std::uint8_t { exact, prefix };

struct rule {
  resource on = resource::key;
  match by = match::exact;
  std::string name;
  permission policy = permission::deny;

  bool operator==(const rule&) const = default;
};

/// Empty where the policy says nothing.
struct rules {
  std::vector<rule> named; ///< the same name may have several rules: `prevailing` says which of them counts
  std::optional<permission> on_acl;
  std::optional<permission> on_keyring;
  std::optional<permission> on_operator;

  bool operator==(const rules&) const = default;
};

/// Which of two rules for the same thing counts: deny, else the one that grants more. docs/contract/10, section 2.
constexpr permission prevailing(permission a, permission b) {
  return a == permission::deny || b == permission::deny ? permission::deny : a < b ? b : a;
}

/// Whether a rule that says `policy` grants `needed`. @pre needed is not deny
constexpr bool grants(permission policy, permission needed) {
  return policy != permission::deny && policy >= needed;
}

/// Reads what the parser found in the text of a policy. Words that mean nothing here (`sentinel`, `mesh`) are ignored,
/// `intentions` of services are checked and ignored: Belay has none. docs/contract/10, sections 2.1 and 2.2.
/// The failure is Consul's text: `Failed to parse ACL rules: At 1:7: ...` where a value has the wrong type (line and
/// column of the value), `Invalid key policy: &acl.KeyRule{...}` where the policy is none of the words.
/// Costs time in proportion to the document.
result<rules> read_rules(const hcl::object& document);

/// The same of a text in HCL or JSON, within hcl::limits; `Failed to parse ACL rules: ...` with the parser's complaint if
/// it is neither. An empty text says nothing.
result<rules> read_rules(std::string_view text);

} // namespace belay::acl
