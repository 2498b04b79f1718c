#include "protocol/agent/alias_health.hpp"

#include "protocol/base/ascii_case.hpp"

#include <algorithm>

namespace belay::agent {

namespace {

constexpr auto all_passing = "All checks passing.", no_checks = "No checks found.";

std::string failing(const state::check_record& c) {
  auto text = "Aliased check \"" + c.name + "\" failing: " + c.output;
  if (text.size() <= alias_output_bytes_max)
    return text;
  const auto size = std::to_string(text.size());
  text.resize(alias_output_bytes_max);
  return text + " ... (captured " + std::to_string(alias_output_bytes_max) + " of " + size + " bytes)";
}

} // namespace

bool is_alias_elsewhere(const check_definition& c, std::string_view own) {
  return !c.alias_node.empty() && kind_of(c) == check_kind::alias && !equal_ignoring_case(c.alias_node, own);
}

void alias_health::add(const state::check_record& c) {
  const bool counts = c.service_id.empty() || equal_ignoring_case(c.service_id, alias_.alias_service);
  if (!counts || status_ == "critical")
    return;
  if (c.status == "critical" || (c.status == "warning" && status_ == "passing")) {
    status_ = c.status;
    output_ = failing(c);
  } else if (status_ == "passing") {
    output_ = all_passing;
  }
}

void grouped_checks::count(std::size_t number) {
  const auto& c = *all_[number];
  auto& of_service = groups_[c.service_id];
  if (c.status == "critical")
    of_service.critical.insert(number);
  else if (c.status == "warning")
    of_service.warning.insert(number);
}

std::size_t grouped_checks::add(state::check_ptr c) {
  const auto number = all_.size();
  ++groups_[c->service_id].checks;
  all_.push_back(std::move(c));
  count(number);
  return number;
}

void grouped_checks::replace(std::size_t number, state::check_ptr c) {
  auto& of_service = groups_[c->service_id];
  of_service.critical.erase(number);
  of_service.warning.erase(number);
  all_[number] = std::move(c);
  count(number);
}

std::pair<std::string, std::string> grouped_checks::health_of(const check_definition& alias, std::size_t own) const {
  const auto none = all_.size();
  std::vector<const group*> counting;
  for (const auto& name : std::set<std::string, folded_less>{std::string(), alias.alias_service})
    if (const auto it = groups_.find(name); it != groups_.end())
      counting.push_back(&it->second);
  const auto first = [&](std::set<std::size_t> group::*failing) {
    auto number = none;
    for (const auto* g : counting) {
      auto it = (g->*failing).begin();
      if (it != (g->*failing).end() && *it == own)
        ++it;
      if (it != (g->*failing).end())
        number = std::min(number, *it);
    }
    return number;
  };
  for (const auto failed : {first(&group::critical), first(&group::warning)})
    if (failed != none)
      return {all_[failed]->status, failing(*all_[failed])};
  std::size_t others = 0;
  for (const auto* g : counting)
    others += g->checks;
  const auto& service = all_[own]->service_id;
  if (service.empty() || same_id(service, alias.alias_service))
    --others;
  return {"passing", others > 0 ? all_passing : no_checks};
}

std::string alias_not_found(const check_definition& alias, std::string_view node) {
  return "Service " + alias.alias_service + " could not be found on node " + std::string(node);
}

} // namespace belay::agent
