#pragma once
// Operations on the keyrings of all members, while they are under way: who was asked, who has answered, and what came of it. The
// actor that sends the calls and keeps the clock is raft_peer.

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
  keyring_answer answer; ///< not answered: its text says why not
};

/// An operation that is over.
struct keyring_outcome {
  request_id id;
  keyring_operation asked;
  bool local_only = false; ///< the client did not want to hear of the pool that spans datacenters
  std::vector<keyring_of_member> members;
};

class keyring_rounds {
public:
  /// At one time; a client that asks for more is refused.
  static constexpr std::size_t rounds_max = 16;

  struct member {
    node_id id;
    std::string name;
  };

  /// @param who all of whom an answer is expected
  /// @param deadline nobody is waited for any longer
  /// @returns false: too many are under way
  bool begin(request_id id, keyring_operation what, bool local_only, const std::vector<member>& who,
             local_time deadline);
  /// Null: it is over.
  const keyring_operation* operation(request_id id) const;
  /// Of members and operations that are not waited for nothing counts.
  void answered(request_id id, node_id from, keyring_answer a);
  /// That member could not be asked.
  void not_asked(request_id id, node_id member, std::string why);
  /// The connection to it is gone: nobody knows whether it did what it was asked.
  void lost(node_id member);
  void expire(local_time now);

  /// Those that are over, once each.
  std::vector<keyring_outcome> take_finished();

private:
  struct state {
    bool waiting = true;
    keyring_of_member said;
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
