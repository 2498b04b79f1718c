#pragma once
// Decides when a leader that commits nothing says so, and which voters are missing for a majority.

#include "protocol/raft/core.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::diagnosis {

/// Of one term of a leader.
class commit_watch {
public:
  /// From then on it is said: no disk and no election takes so long while all is well.
  static constexpr std::chrono::seconds patience{2};
  /// As often as a server says why it has no leader.
  static constexpr std::chrono::seconds interval{10};

  struct finding {
    bool goes_on = false;           ///< entries are committed again; false: none is
    std::chrono::nanoseconds since; ///< how long nothing was, or has been, committed
  };

  /// With every tick of a leader. @param passed since the look before, without what the process stood still for
  /// @returns what is to be said now
  std::optional<finding> look(log_index commit, log_index last, std::chrono::nanoseconds passed);
  /// This server does not lead any more.
  void forget() { *this = {}; }

private:
  log_index commit_;
  std::chrono::nanoseconds since_{0}, next_ = patience;
};

/// One voter, as the leader sees it.
struct voter_facts {
  std::string name;
  bool self = false;
  log_index match; ///< on its disk up to here
  bool disk_full = false;
  std::chrono::nanoseconds silent{0}; ///< since it was last received from; self: since its log write began
};

/// Which of the voters do not have the entry after `commit` on their disks, and why:
/// "belay-2 disk full, belay-3 not heard for 8 s".
std::string missing_for_commit(const std::vector<voter_facts>& voters, log_index commit);

} // namespace belay::diagnosis
