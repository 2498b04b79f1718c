#include "protocol/base/probe.hpp"

namespace belay {

#ifdef BELAY_SIMULATION_HOOKS

namespace {

// Only grows, at its head; a probe lives until the process ends.
std::atomic<const probe*> newest{nullptr};

} // namespace

probe::probe(const char* name) : name_(name) {
  next_ = newest.load();
  while (!newest.compare_exchange_weak(next_, this))
    ;
}

#endif

std::map<std::string, std::uint64_t> probe_counts() {
  std::map<std::string, std::uint64_t> counts;
#ifdef BELAY_SIMULATION_HOOKS
  for (const auto* p = newest.load(); p != nullptr; p = p->next())
    if (p->count() > 0)
      counts[p->name()] += p->count();
#endif
  return counts;
}

} // namespace belay
