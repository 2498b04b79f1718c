#include "protocol/acl/authorizer.hpp"

#include "protocol/base/check.hpp"

#include <cstddef>
#include <vector>

namespace belay::acl {
namespace {

std::size_t number_of(resource on) {
  return static_cast<std::size_t>(on);
}

/// A policy without a rule has no effect.
void pool(std::optional<permission>& known, std::optional<permission> policy) {
  if (policy)
    known = known ? prevailing(*known, *policy) : *policy;
}

} // namespace

authorizer::authorizer(std::span<const rules* const> policies, default_policy otherwise) : otherwise_(otherwise) {
  std::array<std::vector<const rule*>, resource_count> pooled;
  for (const auto* policy : policies) {
    for (const auto& r : policy->named)
      pooled[number_of(r.on)].push_back(&r);
    pool(on_acl_, policy->on_acl);
    pool(on_keyring_, policy->on_keyring);
    pool(on_operator_, policy->on_operator);
  }
  for (std::size_t i = 0; i < resource_count; ++i)
    trees_[i] = rule_tree(pooled[i]);
}

authorizer authorizer::manage_all() {
  authorizer all(default_policy::allow);
  all.on_acl_ = permission::write;
  return all;
}

bool authorizer::allows(resource on, permission needed, std::string_view name) const {
  PRECONDITION(needed != permission::deny);
  return allows_or_default(trees_[number_of(on)].of(name), needed);
}

bool authorizer::key_write_prefix(std::string_view prefix) const {
  const auto& keys = trees_[number_of(resource::key)];
  return allows_or_default(keys.of_prefix(prefix), permission::write) && keys.only_write_under(prefix);
}

} // namespace belay::acl
