#include "protocol/agent/alias_health.hpp"

#include "protocol/base/ascii_case.hpp"

namespace belay::agent {

bool is_alias_elsewhere(const check_definition& c, std::string_view own) {
  return !c.alias_node.empty() && kind_of(c) == check_kind::alias && !equal_ignoring_case(c.alias_node, own);
}

void alias_health::add(const state::check_record& c) {
  const bool counts = c.service_id.empty() || equal_ignoring_case(c.service_id, alias_.alias_service);
  if (!counts || status_ == "critical")
    return;
  if (c.status == "critical" || (c.status == "warning" && status_ == "passing")) {
    status_ = c.status;
    output_ = "Aliased check \"" + c.name + "\" failing: " + c.output;
  } else if (status_ == "passing") {
    output_ = "All checks passing.";
  }
}

std::string alias_not_found(const check_definition& alias, std::string_view node) {
  return "Service " + alias.alias_service + " could not be found on node " + std::string(node);
}

} // namespace belay::agent
