#pragma once
// A simulated client that uses sessions. It acquires locks and semaphore slots, writes only while
// it holds them, renews its session (or forgets to) and releases. Sometimes it does what breaks
// locks elsewhere: sleeps beyond its TTL, writes a locked key without the lock, or fails a check.

#include "sim/record/history.hpp"
#include "sim/record/semaphore_recipes.hpp"

#include <optional>
#include <string>
#include <variant>

namespace belay::sim {

/// The sessions that clients of this kind have requested: each may end those of others.
using known_sessions = std::vector<std::string>;

/// Chooses the next request, and learns from the response. One at a time.
class lock_client {
public:
  /// An acquire to be tried after a lock delay.
  struct acquire_later {
    state::command acquire;
    virtual_time left;
  };
  /// Nothing, or one of the three kinds of operations.
  using request = std::variant<std::monostate, state::command, acquire_later, http::read_request, session_renewal>;

  /// @pre `all` outlives it.
  /// @param client_agents how many; some sessions are tied to their nodes
  lock_client(std::size_t number, known_sessions& all, std::size_t client_agents);

  /// @param drawn decides, as in `workload`
  /// @param fresh a number that no command had before
  request next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now);
  /// The renewal, if it has a session and it is time.
  std::optional<session_renewal> renewal(virtual_time now);
  void learn(const operation& o);

private:
  enum class step : std::uint8_t { idle, creating, acquiring, releasing, entering, listing, joining, leaving };

  request create(std::uint64_t drawn);
  request without_lock(std::uint64_t drawn, std::uint64_t fresh);
  request with_lock(std::uint64_t drawn, std::uint64_t fresh);
  request semaphore(std::uint64_t drawn, std::uint64_t fresh);
  state::kv_op op(state::kv_verb verb, std::string key, std::uint64_t fresh) const;
  void learn_write(const operation& o);
  void learn_holders(const operation& o);
  void forget_session();

  std::size_t number_;
  std::string node_; ///< that its sessions are tied to
  bool of_agent_;    ///< that is the node of a client agent, which maintains it
  bool contends_;    ///< for the semaphore; else for locks
  known_sessions& all_;
  step step_ = step::idle;
  bool node_known_;
  std::uint64_t sessions_ = 0;    ///< requested so far
  state::session_record session_; ///< id empty: none
  virtual_time renewed_{0};
  virtual_time asleep_until_{0};
  std::string wanted_, held_;  ///< lock, or slot of the semaphore that has a key for each
  std::uint64_t slot_ = 0;     ///< to be tried next
  virtual_time delay_left_{0}; ///< lock delay of what it waits for
  // semaphore: what it saw last
  bool entered_ = false, holds_ = false;
  bool seen_ = false;
  log_index holders_at_;
  std::vector<std::string> holders_;
};

} // namespace belay::sim
