#pragma once
// What a server sends a client agent about a token: rules for the agent's own services and checks.

#include "protocol/acl/rules.hpp"
#include "protocol/state/queries.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

struct token_rules {
  std::string accessor;
  std::vector<acl::rules> rules;

  bool operator==(const token_rules&) const = default;
};

std::string json_of(const token_rules& r);
/// nullopt: not such a text
std::optional<token_rules> read_token_rules(std::string_view json);

} // namespace belay::http
