#pragma once
// Keyring operations of all members that are in progress: requests, replies
// and results. The actor that sends the calls and keeps the time is raft_peer.

#include "protocol/forward/keyring.hpp"
#include "protocol/forward/requests.hpp"

#include <map>
#include <string>
#include <vector>

namespace belay::forward {

/// What one member did, as far as it is known.
struct keyring_of_member {
  std::string name;
  bool answered = false;
  keyring_answer answer; ///< if not answered, its text says why
};

/// A finished operation.
struct keyring_outcome {
  request_id id;
  keyring_operation requested;
  bool local_only = false; ///< the client did not request the WAN pool
  std::vector<keyring_of_member> members;
};

class keyring_rounds {
public:
  /// Limit of concurrent operations; more are rejected.
  static constexpr std::size_t rounds_max = 16;

  struct member {
    node_id id;
    std::string name;
  };

  /// @param who all members that should reply
  /// @param deadline when to stop waiting
  /// @returns false: too many are in progress
  bool begin(request_id id, keyring_operation what, bool local_only, const std::vector<member>& who,
             local_time deadline);
  /// Null: finished.
  const keyring_operation* operation(request_id id) const;
  /// Ignores replies of other members and of finished operations.
  void answered(request_id id, node_id from, keyring_answer a);
  /// The request could not be sent to that member.
  void not_requested(request_id id, node_id member, std::string why);
  /// Its connection is lost: it is unknown whether it completed the operation.
  void lost(node_id member);
  void expire(local_time now);

  /// The finished operations, once each.
  std::vector<keyring_outcome> take_finished();

private:
  struct state {
    bool waiting = true;
    keyring_of_member response;
  };
  struct round {
    keyring_operation what;
    bool local_only = false;
    local_time deadline{0};
    std::vector<std::pair<node_id, state>> members;
  };
  void settle(round& r, node_id member, bool answered, keyring_answer a);

  std::map<request_id, round> rounds_;
};

} // namespace belay::forward
