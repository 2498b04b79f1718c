// health_checks: aliases of other nodes and their services, looked up in this server's catalog.

#include "actors/agent/health_checks.hpp"
#include "protocol/agent/alias_health.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// The tables are in this process; what takes longer was lost.
constexpr std::chrono::seconds alias_look_limit{30};

} // namespace

void health_checks::look_up_alias(agent::check_schedule::run run, const agent::check_definition& alias) {
  const auto id = ask_catalog(state::catalog_node{alias.alias_node}, http::consistency::stale);
  alias_looks_.emplace(id.value, alias_look{std::move(run), alias, now() + alias_look_limit});
}

bool health_checks::on_alias_rows(const read_result& r) {
  const auto it = alias_looks_.find(r.id.value);
  if (it == alias_looks_.end())
    return false;
  auto look = std::move(it->second);
  alias_looks_.erase(it);
  const auto finish = [&](const std::string& status, const std::string& output) {
    agent_.finished(look.run, status, output, now());
    carry_out(nullptr);
  };
  const auto* result = r.found();
  if (result == nullptr) {
    finish("critical", "Failure checking " + look.alias.alias_node + ": " + std::get<failure>(r.answer).text);
  } else if (const auto* node = std::get_if<state::node_services>(&result->data)) {
    const auto& wanted = look.alias.alias_service;
    const bool found =
        node->node != nullptr && (wanted.empty() || std::any_of(node->services.begin(), node->services.end(),
                                                                [&](const auto& s) { return s->id == wanted; }));
    if (!found) {
      finish("critical", node->node != nullptr ? agent::alias_not_found(look.alias, look.alias.alias_node)
                                               : "Node " + look.alias.alias_node + " could not be found");
    } else {
      const auto id = ask_catalog(state::health_node{look.alias.alias_node}, http::consistency::stale);
      alias_looks_.emplace(id.value, std::move(look));
    }
  } else if (const auto* checks = std::get_if<state::checks>(&result->data)) {
    agent::alias_health health(look.alias);
    for (const auto& c : checks->list)
      health.add(*c);
    finish(health.status(), health.output());
  }
  return true;
}

void health_checks::give_up_aliases() {
  const auto t = now();
  std::erase_if(alias_looks_, [&](auto& each) {
    auto& look = each.second;
    if (t < look.deadline)
      return false;
    agent_.finished(look.run, "critical", "the catalog does not respond", t);
    return true;
  });
}

} // namespace belay::actors
