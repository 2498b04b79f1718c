#pragma once
// Health of an alias check: the worst of the checks of its service or node, as in Consul.

#include "protocol/agent/definitions.hpp"
#include "protocol/agent/folded_ids.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::agent {

/// Many aliases may show the output of one check, so each keeps at most twice the usual.
inline constexpr std::size_t alias_output_bytes_max = 8192;

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

/// The checks of this node by service, so that each of many aliases needs one look-up.
class grouped_checks {
public:
  /// In order of their IDs. @returns its number
  std::size_t add(state::check_ptr c);
  /// Its status or output has changed.
  void replace(std::size_t number, state::check_ptr c);
  /// Status and output of an alias, as of alias_health.
  /// @param own its number: it does not count itself
  std::pair<std::string, std::string> health_of(const check_definition& alias, std::size_t own) const;

private:
  struct group {
    std::size_t checks = 0;
    std::set<std::size_t> critical, warning;
  };
  void count(std::size_t number);

  std::vector<state::check_ptr> all_;
  std::map<std::string, group, folded_less> groups_; ///< by service; empty: those of the node
};

/// Its service does not exist.
std::string alias_not_found(const check_definition& alias, std::string_view node);

} // namespace belay::agent
