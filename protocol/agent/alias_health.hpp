#pragma once
// What an alias check says of the service or node that it stands for: the worst of their checks, as Consul sums them up.

#include "protocol/agent/definitions.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace belay::agent {

/// That check is an alias of another node than `own`, or of a service there: what it says is in the catalog.
bool is_alias_elsewhere(const check_definition& c, std::string_view own);

/// Takes the checks one after the other.
class alias_health {
public:
  /// @param alias outlives it
  explicit alias_health(const check_definition& alias) : alias_(alias) {}

  /// Any check of the node; those of other services do not matter.
  void add(const state::check_record& c);
  const std::string& status() const { return status_; }
  const std::string& output() const { return output_; }

private:
  const check_definition& alias_;
  std::string status_ = "passing", output_ = "No checks found.";
};

/// Its service is not there.
std::string alias_not_found(const check_definition& alias, std::string_view node);

} // namespace belay::agent
