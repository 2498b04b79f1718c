#pragma once
// How nodes, services and checks are registered, renamed and removed, and
// which indexes change (docs/contract/07; docs/contract/02, section 5).

#include "protocol/state/tables.hpp"

namespace belay::state {

// Each function writes a row and sets its indexes; those in the argument are ignored. Each returns
// nullopt, or why nothing was written.

std::optional<std::string> ensure_node(applying& a, node_record node);
std::optional<std::string> ensure_service(applying& a, service_record service);
std::optional<std::string> ensure_check(applying& a, check_record check);

// Removing an absent row has no effect. Sessions that depend on a removed row end in this entry.

void remove_node(applying& a, std::string_view name);
void remove_service(applying& a, std::string_view node, std::string_view id);
void remove_check(applying& a, std::string_view node, std::string_view check_id);

// Validation of arguments that does not need the tables.

std::optional<std::string> node_error(const node_record& node);
std::optional<std::string> service_error(const service_record& service);

std::optional<std::string> register_error(const catalog_register& request);
std::optional<std::string> deregister_error(const catalog_deregister& request);

/// @returns a refusal, or true. After a refusal the caller must undo the writes.
reply register_all(applying& a, const catalog_register& request);
reply deregister(applying& a, const catalog_deregister& request);

} // namespace belay::state
