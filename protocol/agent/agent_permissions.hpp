#pragma once
// What a token may request from the agent itself (docs/contract/10, section 3).

#include "protocol/acl/authorizer.hpp"
#include "protocol/agent/local_registry.hpp"
#include "protocol/agent/requests.hpp"

#include <optional>
#include <string_view>

namespace belay::agent {

/// Why a write, or a read of one service by name, is not permitted;
/// nullopt: it is. For reads of rows, keep_visible() filters the result.
/// @param node the name of this agent's node
std::optional<refused> refusal_of(const request& r, const local_registry& registry, std::string_view node,
                                  const acl::authorizer& may);

/// Removes from the reply what the token may not see; a reply about one item becomes a refusal.
void keep_visible(reply& answer, std::string_view node, const acl::authorizer& may);

/// Keeps the events that the token may see. The index becomes that of the last of them.
void keep_visible(user_events::listing& events, const acl::authorizer& may);

} // namespace belay::agent
