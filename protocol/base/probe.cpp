#include "protocol/base/probe.hpp"

namespace belay {

namespace {

std::map<std::string, std::uint64_t>& counts() {
  static std::map<std::string, std::uint64_t> all;
  return all;
}

} // namespace

#ifdef BELAY_SIMULATION_HOOKS
probe::probe(const char* name) : count_(&counts()[name]) {}
#endif

const std::map<std::string, std::uint64_t>& probe_counts() {
  return counts();
}

} // namespace belay
