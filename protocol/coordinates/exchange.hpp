#pragma once
// A server's exchange of coordinates: measures the distance to one server a second,
// sends its own coordinate every 15 s, and forwards those that clients reported.

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

/// A time by this server's own monotonic clock.
using local_time = std::chrono::nanoseconds;

class exchange {
public:
  exchange(std::string own_name, std::uint64_t seed) : own_name_(std::move(own_name)), estimator_(seed) {}

  /// Serf's probe interval; also the max delay before clients' reports are forwarded.
  static constexpr std::chrono::seconds interval{1};
  /// As often as Consul's agents update their servers (SyncCoordinateIntervalMin).
  static constexpr std::chrono::seconds own_interval{15};

  /// The messages to send now; active once per `interval`.
  /// @param peers connected ones that understand it. A new one is sent everything
  /// @param wall_ms since 1970
  std::vector<std::pair<node_id, message>> tick(const std::set<node_id>& peers, local_time now, std::uint64_t wall_ms);
  /// Its connection is new, or lost: messages in transit may be lost.
  void reconnected(node_id peer);

  probe_answer requested(const probe& p) const { return {p.sent_ns, estimator_.own()}; }
  /// Only a reply to the last request counts. @returns whether it did
  bool answered(node_id from, const probe_answer& a, local_time now);
  void received(const news& n, std::uint64_t wall_ms);
  /// A client reports a node's coordinate. @returns false: rejected by is_usable()
  bool put(std::string node, std::string segment, const coordinate& at, std::uint64_t wall_ms);

  const coordinate& own() const { return estimator_.own(); }
  const table& known() const { return table_; }
  /// A copy of known() if it changed since the last call and that was `interval` ago; else null.
  table_ptr take_changed(local_time now);

private:
  struct peer_state {
    std::uint64_t sent_up_to = 0;        ///< number of the last row sent
    std::uint64_t all_up_to = 0;         ///< rows that other servers announced are sent only up to this number
    std::optional<local_time> requested; ///< time of the unanswered request
  };

  void store(row r, bool ours);
  void announce_own(local_time now, std::uint64_t wall_ms);
  void append_message(node_id peer, peer_state& state, std::vector<std::pair<node_id, message>>& out) const;
  void ask_next(local_time now, std::vector<std::pair<node_id, message>>& out);

  std::string own_name_;
  estimator estimator_;
  bool has_measured_ = false;
  bool sent_own_ = false;
  local_time began_{0}, next_tick_{0}, own_sent_at_{0};

  table table_;
  // Rows in order of arrival. If full, the oldest is dropped.
  struct change {
    table::key of;
    bool ours = false; ///< reported to this server, or its own: others get it from here
  };
  std::map<std::uint64_t, change> changes_;
  std::map<table::key, std::uint64_t> change_of_;
  std::uint64_t last_change_ = 0;

  std::map<node_id, peer_state> peers_;
  node_id requested_last_;
  bool changed_ = false;
  std::optional<local_time> taken_at_;
};

} // namespace belay::coordinates
