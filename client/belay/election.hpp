#pragma once
// One of many has an office.
//
// Promise: as a mutex: while the hold of a campaign is safe() nobody else has the office. Names are exact. On Belay candidates
// get it in the order in which they asked, and it can be handed over in one step; on Consul it is the lock of a key.
// Survives: as a mutex. Observers ride over servers that go and come back; while none answers they keep what they last saw.
// While it is handed over or given back the hold is not safe(): the next one may have it before the answer is here.
// When it cannot: as a mutex. hand_over() is refused with reason::unsupported on Consul, with reason::invalid if nobody waits;
// after an *unknown* one the office may be gone: its hold is given back then, so that somebody gets it.

#include <belay/hold.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {

/// Who has the office.
class leader {
public:
  leader() = default;
  std::string session;
  std::string value; ///< what the holder said of itself: an address
  std::uint64_t fence = 0;
};

class election {
public:
  election(session& s, std::string name, recipe how = recipe::automatic);

  /// Waits until it has the office. @param value what observers see
  task<result<hold>> campaign(std::string value, patience limit);
  /// Gives the office to the candidate that has waited longest, or to the one with that claim.
  task<status> hand_over(hold& office, patience limit, std::string to = {});

private:
  session& session_;
  std::string name_;
  recipe how_;
};

class election_observer {
public:
  /// @param claims whether the office is a claim: session::has_claims(), or what was said to the election
  election_observer(world& w, std::string name, bool claims) : world_(w), name_(std::move(name)), claims_(claims) {}

  /// The next one that is another than the last one returned: at first, what is now. nullopt: nobody has it.
  task<result<std::optional<leader>>> next(patience limit);

private:
  world& world_;
  std::string name_;
  bool claims_;
  bool first_ = true;
  std::uint64_t seen_ = 0;
  std::optional<leader> last_;
};

} // namespace v0
} // namespace belay
