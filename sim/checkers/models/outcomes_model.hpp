#pragma once
// What became of writes with an Idempotency-Key, after each log entry: written from docs/exactly-once.md. Nothing is shared with protocol/state
// but the records. Whether two requests are the same is told by their commands, not by what servers make of them.

#include "protocol/state/commands.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

struct modelled_outcome {
  std::string request;                ///< the bytes of the command; empty: it was sealed
  std::optional<state::reply> answer; ///< nullopt: not judged, or sealed
  log_index decided;
  std::uint64_t until = 0; ///< cluster time in ms

  bool is_void() const { return request.empty(); }
};
using modelled_outcome_ptr = std::shared_ptr<const modelled_outcome>;

/// Takes what is looked up and decided in the order of the log.
class outcomes_model {
public:
  using owned_key = std::pair<std::string, std::string>; ///< whose, and which

  /// Call it before each entry. @returns true: some outcome is forgotten
  bool pass_time(log_index at, cluster_time now);
  /// Null: nothing is known.
  modelled_outcome_ptr find(const owned_key& key) const;
  void keep(const owned_key& key, modelled_outcome o);
  /// A restore: what the archive knows besides is kept for ten minutes from now on.
  void go_back(log_index archive, cluster_time now);

  modelled_outcome_ptr find_at(const owned_key& key, log_index s) const;
  std::size_t count_at(log_index s) const;
  static bool takes(cluster_time asked, cluster_time now);
  static std::uint64_t end_of(cluster_time now);

private:
  struct version {
    log_index at;
    modelled_outcome_ptr row;
  };

  log_index at_; ///< the entry at hand
  std::map<owned_key, modelled_outcome_ptr> live_;
  std::map<owned_key, std::vector<version>> past_;
  std::map<log_index, std::size_t> counts_; ///< as of each change
};

} // namespace belay::sim
