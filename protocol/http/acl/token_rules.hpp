#pragma once
// What a server tells a client agent of a token: the rules by which the agent decides about its own services and checks.

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
/// nullopt: it is no such text
std::optional<token_rules> read_token_rules(std::string_view json);

} // namespace belay::http
