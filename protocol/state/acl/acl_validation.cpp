#include "protocol/state/acl/acl_validation.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <tuple>

namespace belay::state {

const std::string_view management_rules_text = R"(
acl = "write"
agent_prefix "" {
	policy = "write"
}
event_prefix "" {
	policy = "write"
}
key_prefix "" {
	policy = "write"
}
keyring = "write"
node_prefix "" {
	policy = "write"
}
operator = "write"
query_prefix "" {
	policy = "write"
}
service_prefix "" {
	policy = "write"
	intentions = "write"
}
session_prefix "" {
	policy = "write"
})";

namespace {

using complaint = std::optional<std::string>;
using go_compat::quoted;

constexpr std::size_t policy_name_max = 128, role_name_max = 256, identity_name_max = 256;

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_name(std::string_view name, std::size_t length_max) {
  return name.size() <= length_max && std::all_of(name.begin(), name.end(), [](char c) {
           return is_lower_or_digit(lower_case(c)) || c == '-' || c == '_';
         });
}
bool is_identity_name(std::string_view name) {
  return !name.empty() && name.size() <= identity_name_max && is_lower_or_digit(name.front()) &&
         is_lower_or_digit(name.back()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; });
}

/// @param kind "Policy" or "Role"
complaint name_error(const std::string& kind, std::string_view name, std::size_t length_max) {
  if (name.empty())
    return "Invalid " + kind + ": no Name is set";
  if (!is_name(name, length_max))
    return "Invalid " + kind + ": invalid Name. Only alphanumeric characters, '-' and '_' are allowed";
  return std::nullopt;
}

/// @param on "token" or "role"
template <class Holder>
complaint identities_error_of(const Holder& holder, const std::string& on, bool local) {
  for (const auto& each : holder.service_identities) {
    if (each.service_name.empty())
      return "Service identity is missing the service name field on this " + on;
    if (local && each.datacenters && !each.datacenters->empty())
      return "Service identity " + quoted(each.service_name) + " cannot specify a list of datacenters on a local token";
    if (!is_identity_name(each.service_name))
      return "Service identity " + quoted(each.service_name) +
             " has an invalid name. Only alphanumeric characters, '-' and '_' are allowed";
  }
  for (const auto& each : holder.node_identities) {
    if (each.node_name.empty())
      return "Node identity is missing the node name field on this " + on;
    if (each.datacenter.empty())
      return "Node identity is missing the datacenter field on this " + on;
    if (!is_identity_name(each.node_name))
      return complaint("Node identity has an invalid name. Only alphanumeric characters, '-' and '_' are allowed");
  }
  return std::nullopt;
}

template <class Holder>
void merge_identities_of(Holder& holder) {
  auto& services = holder.service_identities;
  std::stable_sort(services.begin(), services.end(),
                   [](const auto& x, const auto& y) { return x.service_name < y.service_name; });
  std::vector<service_identity> merged;
  for (auto& each : services) {
    if (merged.empty() || merged.back().service_name != each.service_name) {
      merged.push_back(std::move(each));
      continue;
    }
    auto& known = merged.back().datacenters;
    if (!known || known->empty() || !each.datacenters || each.datacenters->empty()) {
      known.reset();
      continue;
    }
    known->insert(known->end(), each.datacenters->begin(), each.datacenters->end());
    std::sort(known->begin(), known->end());
    known->erase(std::unique(known->begin(), known->end()), known->end());
  }
  services = std::move(merged);
  auto& nodes = holder.node_identities;
  std::sort(nodes.begin(), nodes.end(), [](const auto& x, const auto& y) {
    return std::tie(x.node_name, x.datacenter) < std::tie(y.node_name, y.datacenter);
  });
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

} // namespace

std::optional<std::string> policy_name_error(std::string_view name) {
  return name_error("Policy", name, policy_name_max);
}
std::optional<std::string> role_name_error(std::string_view name) {
  return name_error("Role", name, role_name_max);
}

std::optional<std::string> policy_error(const acl_policy& policy) {
  if (auto why = policy_name_error(policy.name))
    return why;
  if (!is_uuid(policy.id))
    return "Policy ID invalid UUID";
  if (policy.id == management_policy_id && policy.datacenters)
    return "Changing the Datacenters of the builtin global-management policy is not permitted";
  if (policy.id == management_policy_id && policy.rules != management_rules_text)
    return "Changing the Rules for the builtin global-management policy is not permitted";
  if (auto rules = acl::read_rules(policy.rules); !rules)
    return rules.error();
  return std::nullopt;
}

std::optional<std::string> role_error(const acl_role& role) {
  if (auto why = role_name_error(role.name))
    return why;
  if (!is_uuid(role.id))
    return "Role ID invalid UUID";
  return identities_error_of(role, "role", false);
}

std::optional<std::string> identities_error(const acl_token& token) {
  return identities_error_of(token, "token", token.local);
}

void merge_identities(acl_role& role) {
  merge_identities_of(role);
}
void merge_identities(acl_token& token) {
  merge_identities_of(token);
}

} // namespace belay::state
