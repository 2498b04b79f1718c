#pragma once
// What may be asked of the agent itself in somebody's name (docs/contract/10, section 3).

#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/local_registry.hpp"
#include "protocol/agent/requests.hpp"

#include <optional>
#include <string_view>

namespace belay::agent {

/// Why a write, or a read of one service by its name, is not carried out; nullopt: it is. Reads of rows are judged by
/// keep_visible(), when the rows are known.
/// @param node the name of this agent's node
std::optional<refused> refusal_of(const request& r, const local_registry& registry, std::string_view node,
                                  const acl::authorizer& may);

/// Takes out of the answer what he may not see; where one thing was asked for, the answer is a refusal then.
void keep_visible(reply& answer, std::string_view node, const acl::authorizer& may);

/// The events he may see. The index is that of the last of them.
void keep_visible(user_events::listing& events, const acl::authorizer& may);

} // namespace belay::agent
