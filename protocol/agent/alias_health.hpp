#pragma once
// Health of an alias check: the worst of the checks of its service or node, as in Consul.

#include "protocol/agent/definitions.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace belay::agent {

/// Whether the alias is for another node than `own`, or a service there: its health is remote.
bool is_alias_elsewhere(const check_definition& c, std::string_view own);

/// Aggregates the checks one by one.
class alias_health {
public:
  /// @param alias outlives it
  explicit alias_health(const check_definition& alias) : alias_(alias) {}

  /// Any check of the node; ignores those of other services.
  void add(const state::check_record& c);
  const std::string& status() const { return status_; }
  const std::string& output() const { return output_; }

private:
  const check_definition& alias_;
  std::string status_ = "passing", output_ = "No checks found.";
};

/// Its service does not exist.
std::string alias_not_found(const check_definition& alias, std::string_view node);

} // namespace belay::agent
