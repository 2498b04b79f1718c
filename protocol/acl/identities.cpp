#include "protocol/acl/identities.hpp"

namespace belay::acl {

rules rules_of_service_identity(std::string_view name) {
  const std::string service(name);
  rules out;
  out.named = {{resource::service, match::exact, service, permission::write},
               {resource::service, match::exact, service + "-sidecar-proxy", permission::write},
               {resource::service, match::prefix, "", permission::read},
               {resource::node, match::prefix, "", permission::read}};
  return out;
}

rules rules_of_node_identity(std::string_view name) {
  rules out;
  out.named = {{resource::node, match::exact, std::string(name), permission::write},
               {resource::service, match::prefix, "", permission::read}};
  return out;
}

rules management_rules() {
  rules out;
  for (const auto on : {resource::agent, resource::key, resource::node, resource::service, resource::session,
                        resource::event, resource::query})
    out.named.push_back({on, match::prefix, "", permission::write});
  out.on_acl = out.on_keyring = out.on_operator = permission::write;
  return out;
}

} // namespace belay::acl
