// /v1/health/ (docs/contract/08).

#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/discovery/discovery.hpp"
#include "protocol/http/reading/filtering.hpp"
#include "protocol/http/routes.hpp"

namespace belay::http {

namespace {

action instances_read(request_context& c, bool of_mesh) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing service name"}, r))
    return std::move(*no);
  state::health_service q{std::string(c.argument), c.query.all("tag"), std::move(r.node_meta), false, of_mesh};
  const auto passing = c.query.get("passing");
  const auto only = passing.empty() ? std::optional<bool>(c.query.has("passing")) : go_compat::parse_bool(passing);
  q.passing_only = only.value_or(false);
  auto read = filtered_read(c, r.sorted(std::move(q)), r.options);
  // A wrong filter takes precedence: Consul removes non-passing rows from its servers' response.
  if (!only && !std::holds_alternative<response>(read))
    return with_unknown_meta(error_response(400, "Invalid value for ?passing"));
  return read;
}

} // namespace

action health_node_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing node name"}, r))
    return std::move(*no);
  return filtered_read(c, state::health_node{std::string(c.argument)}, r.options);
}

action health_checks_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing service name"}, r))
    return std::move(*no);
  return filtered_read(c, r.sorted(state::health_checks{std::string(c.argument), std::move(r.node_meta)}), r.options);
}

action health_state_route(request_context& c) {
  discovery_read r;
  if (auto no = read_discovery(c, {.argument_missing = "Missing check state"}, r))
    return std::move(*no);
  return filtered_read(c, r.sorted(state::health_state{std::string(c.argument), std::move(r.node_meta)}), r.options);
}

action health_service_route(request_context& c) {
  return instances_read(c, false);
}

action health_mesh_route(request_context& c) {
  return instances_read(c, true);
}

} // namespace belay::http
