#pragma once
// The sessions after each log entry, by independent rules. Shares only records with protocol/state.
// Of the catalog it has what sessions depend on: nodes, and the state of their checks.

#include "protocol/state/commands.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

class session_model {
public:
  /// @returns the right response to the proposer
  state::reply create(const state::session_record& wanted, log_index at);
  // Each returns the sessions that end by it, in order of their ids; call end() for each.
  std::vector<std::string> of_registration(const state::catalog_register& c, log_index at);
  std::vector<std::string> of_deregistration(const state::catalog_deregister& c, log_index at);
  void end(std::string_view id, log_index at);
  /// Restores the state at `archive`.
  void go_back(log_index archive, log_index at);

  /// Null: it is not alive now.
  const state::session_record* find(std::string_view id) const;
  /// Null: it never existed.
  const state::session_record* past(std::string_view id) const;
  bool lived_at(std::string_view id, log_index s) const;
  bool lived_always(std::string_view id, log_index from, log_index to) const;
  bool lived_ever(std::string_view id, log_index from, log_index to) const;
  bool has_check(std::string_view node, const std::string& check, log_index s) const;
  /// The ids of the sessions that are alive now.
  std::vector<std::string> alive() const;
  /// Indexes of entries by which a session began or ended, ascending.
  const std::vector<log_index>& changes() const { return changes_; }

private:
  struct change {
    log_index at;
    bool lives;
  };
  struct life {
    state::session_record session;
    std::vector<change> changes;
    bool lives() const { return changes.back().lives; }
  };
  using checks = std::map<std::string, std::string>;             ///< id -> status
  using registered = std::map<std::string, checks, std::less<>>; ///< by node

  void record_change(life& l, log_index at, bool lives);
  std::vector<std::string> who_relies_on(std::string_view node, std::string_view check) const;

  std::map<std::string, life, std::less<>> lives_; ///< all that ever existed
  registered nodes_;
  std::map<log_index, registered> nodes_since_; ///< as of each change
  std::vector<log_index> changes_;
};

} // namespace belay::sim
