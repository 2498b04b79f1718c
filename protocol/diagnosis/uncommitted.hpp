#pragma once
// Decides when a leader that commits nothing reports it, and which voters are missing.

#include "protocol/raft/core.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace belay::diagnosis {

/// State of one term of a leader.
class commit_watch {
public:
  /// Reported after this time: no healthy disk or election takes as long.
  static constexpr std::chrono::seconds report_after{2};
  /// The interval in which a server reports why it has no leader.
  static constexpr std::chrono::seconds interval{10};

  struct finding {
    bool goes_on = false;           ///< entries are committed again; false: none is
    std::chrono::nanoseconds since; ///< how long nothing was, or has been, committed
  };

  /// Call at every tick of a leader.
  /// @param passed since the last call, without standstills
  /// @returns the report to make now
  std::optional<finding> look(log_index commit, log_index last, std::chrono::nanoseconds passed);
  /// This server has lost the leadership.
  void forget() { *this = {}; }

private:
  log_index commit_;
  std::chrono::nanoseconds since_{0}, next_ = report_after;
};

/// A voter, as the leader sees it.
struct voter_facts {
  std::string name;
  bool self = false;
  log_index match; ///< on its disk up to here
  bool disk_full = false;
  std::chrono::nanoseconds silent{0}; ///< since its last message; self: since its log write began
};

/// The voters that do not have the entry after `commit` on disk, and why:
/// "belay-2 disk full, belay-3 silent for 8 s".
std::string missing_for_commit(const std::vector<voter_facts>& voters, log_index commit);

} // namespace belay::diagnosis
