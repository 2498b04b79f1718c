#pragma once
// Which sessions there are after each log entry, by rules of its own: nothing here is shared with protocol/state but
// the records. Of the catalog only what sessions hang on: which nodes there are, and the state of their checks.

#include "protocol/state/commands.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

class session_model {
public:
  struct life {
    state::session_record session;
    log_index born, ended; ///< ended: zero while it lives
  };

  /// @returns what the proposer must be told
  state::reply create(const state::session_record& wanted, log_index at);
  // Each returns the sessions that end by it, in order of their ids; end() has to be called for each.
  std::vector<std::string> of_registration(const state::catalog_register& c);
  std::vector<std::string> of_deregistration(const state::catalog_deregister& c);
  void end(std::string_view id, log_index at);

  /// Null: it does not live now.
  const state::session_record* find(std::string_view id) const;
  /// Null: there never was one.
  const life* past(std::string_view id) const;
  bool lived_at(std::string_view id, log_index s) const;
  const std::map<std::string, life, std::less<>>& all() const { return lives_; }
  /// Of the newest entry at or before s by which a session began or ended; zero: none.
  log_index changed_at(log_index s) const;

private:
  std::vector<std::string> who_relies_on(std::string_view node, std::string_view check) const;

  std::map<std::string, life, std::less<>> lives_;                               ///< all that ever were
  std::map<std::string, std::map<std::string, std::string>, std::less<>> nodes_; ///< name -> check -> status
  std::vector<log_index> changes_;
};

} // namespace belay::sim
