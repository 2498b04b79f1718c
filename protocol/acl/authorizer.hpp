#pragma once
// Permissions of a token: the rules of all its policies and the default policy, compiled.
// docs/contract/10, sections 2, 3 and 4; section 3 lists which endpoint checks what.

#include "protocol/acl/rule_tree.hpp"
#include "protocol/acl/rules.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace belay::acl {

/// The decision where no rule applies (`acl.default_policy`). Even `allow` excludes ACL management.
enum class default_policy : std::uint8_t { deny, allow };

/// Immutable, so any number of threads may share it. A check walks
/// along the name, whatever the number of rules, and does not allocate.
class authorizer {
public:
  /// The permissions of a token without policies. @see allow_all, deny_all
  explicit authorizer(default_policy otherwise) : otherwise_(otherwise) {}

  /// Combines the rules of all policies: `prevailing` decides between rules for the same
  /// thing. They need not outlive the call, which is O(their bytes). No pointer is null.
  authorizer(std::span<const rules* const> policies, default_policy otherwise);

  /// Everything including ACL management: like the policy global-management alone.
  static authorizer manage_all();
  /// A token without policies if the default policy is `allow`: everything except ACL management.
  static authorizer allow_all() { return authorizer(default_policy::allow); }
  /// A token without policies if the default policy is `deny`: nothing.
  static authorizer deny_all() { return authorizer(default_policy::deny); }

  /// All checks of names except key_write_prefix. @pre needed is not deny
  bool allows(resource on, permission needed, std::string_view name) const;

  bool key_read(std::string_view key) const { return allows(resource::key, permission::read, key); }
  /// Checks the prefix of a listing as if it were a key (`acl.enable_key_list_policy`).
  bool key_list(std::string_view prefix) const { return allows(resource::key, permission::list, prefix); }
  bool key_write(std::string_view key) const { return allows(resource::key, permission::write, key); }
  /// Whether all keys under `prefix`, existing or not, may be deleted: docs/contract/10, section 4.
  bool key_write_prefix(std::string_view prefix) const;

  /// Whether both decide the same about all keys.
  bool sees_same_keys(const authorizer& other) const {
    constexpr auto keys = static_cast<std::size_t>(resource::key);
    return otherwise_ == other.otherwise_ && trees_[keys] == other.trees_[keys];
  }

  bool session_read(std::string_view node) const { return allows(resource::session, permission::read, node); }
  bool session_write(std::string_view node) const { return allows(resource::session, permission::write, node); }
  bool node_read(std::string_view node) const { return allows(resource::node, permission::read, node); }
  bool node_write(std::string_view node) const { return allows(resource::node, permission::write, node); }
  bool service_read(std::string_view service) const { return allows(resource::service, permission::read, service); }
  bool service_write(std::string_view service) const { return allows(resource::service, permission::write, service); }
  bool agent_read(std::string_view node) const { return allows(resource::agent, permission::read, node); }
  bool agent_write(std::string_view node) const { return allows(resource::agent, permission::write, node); }
  bool event_read(std::string_view event) const { return allows(resource::event, permission::read, event); }
  bool event_write(std::string_view event) const { return allows(resource::event, permission::write, event); }
  bool query_read(std::string_view query) const { return allows(resource::query, permission::read, query); }
  bool query_write(std::string_view query) const { return allows(resource::query, permission::write, query); }

  bool operator_read() const { return allows_or_default(on_operator_, permission::read); }
  bool operator_write() const { return allows_or_default(on_operator_, permission::write); }
  bool keyring_read() const { return allows_or_default(on_keyring_, permission::read); }
  bool keyring_write() const { return allows_or_default(on_keyring_, permission::write); }

  // No default policy grants these: without a rule for acl they are denied.
  bool acl_read() const { return on_acl_ && grants(*on_acl_, permission::read); }
  bool acl_write() const { return on_acl_ && grants(*on_acl_, permission::write); }
  /// For saving and restoring: tokens are part of a snapshot.
  bool snapshot() const { return acl_write(); }

private:
  bool by_default() const { return otherwise_ == default_policy::allow; }
  bool allows_or_default(std::optional<permission> policy, permission needed) const {
    return policy ? grants(*policy, needed) : by_default();
  }

  default_policy otherwise_;
  std::array<rule_tree, resource_count> trees_;
  std::optional<permission> on_acl_, on_keyring_, on_operator_;
};

} // namespace belay::acl
