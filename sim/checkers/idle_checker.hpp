#pragma once
// Judges a cluster of which nobody wants anything: its log stands still, and nobody is elected. Only what is over goes: sessions
// that nobody renews, and tombstones.

#include "sim/checkers/kv_model.hpp"

#include <optional>

namespace belay::sim {

class idle_checker {
public:
  /// Nobody asks for anything but renewals and reads from now on. @param term the leader's
  void begin(term_id term) {
    term_ = term;
    in_vain_ = 0;
  }
  void end() { term_.reset(); }

  /// Every committed entry, also when nobody is idle.
  broken committed(const raft::entry& e);

private:
  std::optional<term_id> term_; ///< nullopt: not idle
  log_index reaped_;            ///< tombstones up to there are forgotten
  int in_vain_ = 0;             ///< how often they were forgotten again
};

} // namespace belay::sim
