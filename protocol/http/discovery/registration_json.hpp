#pragma once
// JSON between a client agent and servers about the agent's own node:
// registrations as clients send them, and rows as clients read them.

#include "protocol/state/queries.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

/// Body of /v1/catalog/register.
std::string json_of(const state::catalog_register& r);
/// Body of /v1/catalog/deregister.
std::string json_of(const state::catalog_deregister& r);

/// Response of /v1/catalog/node/. nullopt: malformed
std::optional<state::node_services> read_node_services(std::string_view json);
/// Response of /v1/health/node/. nullopt: malformed
std::optional<state::checks> read_checks(std::string_view json);

} // namespace belay::http
