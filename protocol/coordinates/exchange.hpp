#pragma once
// What a server measures, knows and tells of coordinates. It asks one server a second how far it is, tells its own place every 15 s, and
// passes on what clients have told it.

#include "protocol/base/ids.hpp"
#include "protocol/coordinates/estimator.hpp"
#include "protocol/coordinates/messages.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belay::coordinates {

/// Of the own monotonic clock.
using local_time = std::chrono::nanoseconds;

class exchange {
public:
  exchange(std::string own_name, std::uint64_t seed) : own_name_(std::move(own_name)), estimator_(seed) {}

  /// Serf's probe interval; and how long what clients have said may stay here.
  static constexpr std::chrono::seconds interval{1};
  /// As often as agents of Consul tell their servers (SyncCoordinateIntervalMin).
  static constexpr std::chrono::seconds own_interval{15};

  /// What is to be sent now; does something once in `interval`.
  /// @param peers that are connected and understand it. One that was not among them before is told everything
  /// @param wall_ms since 1970
  std::vector<std::pair<node_id, message>> tick(const std::set<node_id>& peers, local_time now, std::uint64_t wall_ms);
  /// Its connection is new, or gone: what was on the way may be lost.
  void reconnected(node_id peer);

  probe_answer asked(const probe& p) const { return {p.sent_ns, estimator_.own()}; }
  /// Only the answer to what was asked last counts. @returns whether it did
  bool answered(node_id from, const probe_answer& a, local_time now);
  void heard(const news& n, std::uint64_t wall_ms);
  /// A client of this server says where a node is. @returns false: is_usable() is not so, and nothing was done
  bool put(std::string node, std::string segment, const coordinate& at, std::uint64_t wall_ms);

  const coordinate& own() const { return estimator_.own(); }
  const table& known() const { return table_; }
  /// A copy of known(), if that has changed since the last time and that was `interval` ago; else null.
  table_ptr take_changed(local_time now);

private:
  struct peer_state {
    std::uint64_t sent_up_to = 0;    ///< number of the last row that was sent
    std::uint64_t all_up_to = 0;     ///< rows of others are sent up to this one
    std::optional<local_time> asked; ///< when it was, if it has not answered
  };

  void store(row r, bool ours);
  void say_own(local_time now, std::uint64_t wall_ms);
  void tell(node_id peer, peer_state& state, std::vector<std::pair<node_id, message>>& out) const;
  void ask_next(local_time now, std::vector<std::pair<node_id, message>>& out);

  std::string own_name_;
  estimator estimator_;
  bool has_measured_ = false;
  bool said_own_ = false;
  local_time began_{0}, next_tick_{0}, own_said_at_{0};

  table table_;
  // Rows by the order in which they came here. Who is full forgets the one that came longest ago.
  struct change {
    table::key of;
    bool ours = false; ///< a client has told this server, or it is the server itself: others have it from here
  };
  std::map<std::uint64_t, change> changes_;
  std::map<table::key, std::uint64_t> change_of_;
  std::uint64_t last_change_ = 0;

  std::map<node_id, peer_state> peers_;
  node_id asked_last_;
  bool changed_ = false;
  std::optional<local_time> taken_at_;
};

} // namespace belay::coordinates
