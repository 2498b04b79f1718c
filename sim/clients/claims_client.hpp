#pragma once
// A simulated client of claims (docs/claims.md): it asks for locks, read-write locks, semaphores and elections under a session, waits in
// queues of claims and of keys' locks, hands over, lets go, guards keys, and writes with fences. Often it does what goes wrong elsewhere: it
// asks again with the same id through other servers, lets go before it has asked, asks for what has ended, sleeps beyond its TTL.

#include "sim/record/history.hpp"
#include "sim/record/long_ago.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::sim {

/// Says what to ask next, and learns from the answers. One at a time.
class claims_client {
public:
  /// With how long the server may wait before it answers.
  struct asking {
    state::command what;
    virtual_time wait{0};
    virtual_time leaves_after{0}; ///< the client ends its connection if there is no answer by then; zero: it does not
  };
  using request = std::variant<std::monostate, asking, session_renewal, http::read_request>;

  explicit claims_client(std::size_t number);

  /// @param drawn decides, as in `workload`; @param fresh a number that no command had before
  request next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now);
  void learn(const operation& o);

private:
  struct claim {
    state::claim_ask asked;          ///< with an id of its own
    std::uint64_t fence = 0;         ///< of the last that was told; zero: it may wait
    std::vector<std::string> behind; ///< ids that were told to stand before it
  };

  request create(std::uint64_t drawn, std::uint64_t fresh);
  request look(std::uint64_t drawn);
  request renewal(std::uint64_t drawn, virtual_time now);
  request ask(std::uint64_t drawn);
  request on_one(std::uint64_t drawn);
  request on_key(std::uint64_t drawn, std::uint64_t fresh);
  request leave(std::uint64_t drawn, state::kv_acquire a);
  request on_guarded(std::uint64_t drawn, std::uint64_t fresh);
  state::claim_ask fresh_ask(std::uint64_t drawn);
  claim* find(const std::string& name, const std::string& id);
  void drop(const std::string& name, const std::string& id);
  void forget_session();

  std::size_t number_;
  std::string node_;
  bool node_known_ = false;
  std::uint64_t sessions_ = 0, ids_ = 0;
  state::session_record session_; ///< id empty: none
  virtual_time renewed_{0}, asleep_until_{0};
  std::vector<claim> claims_;           ///< that may hold or wait
  std::vector<state::claim_ask> over_;  ///< the last few that have ended
  long_ago<state::claim_ask> long_ago_; ///< of those that have ended
  virtual_time now_{0};
  std::string key_;             ///< whose lock it wants or has
  std::uint64_t key_fence_ = 0; ///< it has it
  // After it ended the connection while it waited for a lock.
  virtual_time back_at_{0}; ///< then it asks again; zero: it does not
  virtual_time away_until_{0};
  std::string looked_at_;        ///< the claims of which name it read last
  std::uint64_t seen_index_ = 0; ///< with that index
};

} // namespace belay::sim
