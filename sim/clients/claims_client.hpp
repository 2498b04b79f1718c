#pragma once
// A simulated client of claims (docs/reference/claims.md). Under a session it requests all kinds of claims,
// waits in queues, transfers, releases, guards keys, and uses fencing tokens. It often does what
// breaks other systems: repeats ids through other servers, releases first, and sleeps beyond its
// TTL.

#include "sim/record/history.hpp"
#include "sim/record/long_ago.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::sim {

/// Chooses the next request, and learns from the response. One at a time.
class claims_client {
public:
  /// A command, with how long the server may wait before it responds.
  struct asking {
    state::command what;
    virtual_time wait{0};
    virtual_time leaves_after{0}; ///< the client disconnects if there is no response by then; zero: it does not
  };
  using request = std::variant<std::monostate, asking, session_renewal, http::read_request>;

  explicit claims_client(std::size_t number);

  /// @param drawn decides, as in `workload`
  /// @param fresh a number that no command had before
  request next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now);
  void learn(const operation& o);

private:
  struct claim {
    state::claim_ask requested;      ///< with an id of its own
    std::uint64_t fence = 0;         ///< the last fencing token received; zero: it may wait
    std::vector<std::string> behind; ///< ids that were reported to be ahead of it
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
  long_ago<state::claim_ask> long_ago_; ///< older ones that have ended
  virtual_time now_{0};
  std::string key_;             ///< whose lock it waits for or holds
  std::uint64_t key_fence_ = 0; ///< not zero: it holds the lock
  // Set when it disconnected while it waited for a lock:
  virtual_time back_at_{0}; ///< when it requests it again; zero: it does not
  virtual_time away_until_{0};
  std::string looked_at_;        ///< the name whose claims it read last
  std::uint64_t seen_index_ = 0; ///< the index of that read
};

} // namespace belay::sim
