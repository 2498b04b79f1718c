#pragma once
// The outcomes of writes with an Idempotency-Key after each entry, from docs/reference/exactly-once.md.
// Shares only the records with protocol/state. It compares requests by their commands.

#include "protocol/state/commands.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

struct modelled_outcome {
  std::string request;                ///< the bytes of the command; empty: it was cancelled
  std::optional<state::reply> answer; ///< nullopt: not checked, or cancelled
  log_index decided;
  std::uint64_t until = 0; ///< cluster time in ms

  bool is_void() const { return request.empty(); }
};
using modelled_outcome_ptr = std::shared_ptr<const modelled_outcome>;

/// Takes lookups and decisions in the order of the log.
class outcomes_model {
public:
  using owned_key = std::pair<std::string, std::string>; ///< owner and key

  /// Call it before each entry. @returns true: some outcome is forgotten
  bool pass_time(log_index at, cluster_time now);
  /// Null: unknown.
  modelled_outcome_ptr find(const owned_key& key) const;
  void keep(const owned_key& key, modelled_outcome o);
  /// A restore: additional outcomes of the archive are kept for ten minutes from now on.
  void go_back(log_index archive, cluster_time now);

  modelled_outcome_ptr find_at(const owned_key& key, log_index s) const;
  std::size_t count_at(log_index s) const;
  static bool takes(cluster_time requested, cluster_time now);
  static std::uint64_t end_of(cluster_time now);

private:
  struct version {
    log_index at;
    modelled_outcome_ptr row;
  };

  log_index at_; ///< the current entry
  std::map<owned_key, modelled_outcome_ptr> live_;
  std::map<owned_key, std::vector<version>> past_;
  std::map<log_index, std::size_t> counts_; ///< as of each change
};

} // namespace belay::sim
