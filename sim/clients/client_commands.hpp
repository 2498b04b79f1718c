#pragma once
// Commands that several kinds of simulated clients use.

#include "protocol/state/commands.hpp"

#include <string>
#include <utility>

namespace belay::sim {

/// A unique value and unique flags.
/// @param fresh a number that no other write has
inline state::kv_op op_with(std::uint64_t fresh, state::kv_verb verb, std::string key) {
  state::kv_op o;
  o.verb = verb;
  o.key = std::move(key);
  o.value = make_payload(std::to_string(fresh));
  o.flags = fresh;
  return o;
}

/// A node with the check that the sessions of its clients depend on.
inline state::catalog_register node_with_liveness(const std::string& node, const std::string& address,
                                                  const std::string& status, std::uint64_t fresh) {
  state::catalog_register r;
  r.node.node = node;
  r.node.address = address;
  state::check_record check;
  check.node = node;
  check.check_id = check.name = "serfHealth";
  check.status = status;
  check.output = std::to_string(fresh);
  r.checks.push_back(check);
  return r;
}

} // namespace belay::sim
