#pragma once
// PROBE("name") marks a rare path, to see whether the simulator's runs reach it: a
// counter if BELAY_SIMULATION_HOOKS is defined, nothing in shipped builds. Thread-safe.

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace belay {

#ifdef BELAY_SIMULATION_HOOKS

/// One location in the code; registers itself when it is first reached.
class probe {
public:
  explicit probe(const char* name);
  void reached() { count_.fetch_add(1, std::memory_order_relaxed); }

  const char* name() const { return name_; }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  const probe* next() const { return next_; }

private:
  const char* name_;
  std::atomic<std::uint64_t> count_{0};
  const probe* next_ = nullptr; ///< in the list of all
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

/// How often each probe was reached since the process
/// started, summed by name. Without the hooks: empty.
std::map<std::string, std::uint64_t> probe_counts();

} // namespace belay
