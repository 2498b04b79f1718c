#pragma once
// PROBE("name") marks a rare path, so that the simulator can tell whether its runs ever get there. Nothing in shipped
// builds; where BELAY_SIMULATION_HOOKS is defined, a counter. One thread.

#include <cstdint>
#include <map>
#include <string>

namespace belay {

#ifdef BELAY_SIMULATION_HOOKS

/// One place in the code; registers itself when it is first reached.
class probe {
public:
  explicit probe(const char* name);
  void reached() { ++*count_; }

private:
  std::uint64_t* count_;
};

#define PROBE(name)                                                                                                    \
  do {                                                                                                                 \
    static ::belay::probe belay_probe_(name);                                                                          \
    belay_probe_.reached();                                                                                            \
  } while (false)

#else

#define PROBE(name)                                                                                                    \
  do {                                                                                                                 \
  } while (false)

#endif

/// How often each probe was reached since the process began. Without the hooks: empty.
const std::map<std::string, std::uint64_t>& probe_counts();

} // namespace belay
