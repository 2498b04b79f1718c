#pragma once
// Which faults the client processes have in a run, and how often: drawn once per run.

#include "sim/kit/ground.hpp"

#include <set>
#include <string>

namespace belay {
inline namespace v0 {
namespace sim {

/// Faults of the processes. The four rates are per million requests, `pause_at_clock` per million
/// reads of a clock.
class client_faults {
public:
  std::uint32_t pause_before_send = 0;
  std::uint32_t pause_at_clock = 0;
  std::uint32_t lost = 0;
  std::uint32_t late = 0;
  bool stop = false; ///< processes pause at any time
  bool crash = false;
  bool cut = false;
  bool clock = false;

  static client_faults drawn(belay_ground::ground& g, const std::set<std::string>& without);
  static const std::set<std::string>& names();
  /// A description for the story; empty: no faults.
  std::string words() const;
};

} // namespace sim
} // namespace v0
} // namespace belay
