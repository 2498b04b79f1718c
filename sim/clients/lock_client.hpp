#pragma once
// A simulated client that works under sessions: it takes locks and slots of a semaphore, writes only while it holds
// them, renews its session (or forgets to) and releases. Now and then it does what breaks locks elsewhere: it sleeps for
// longer than its TTL, writes or deletes a locked key without the lock, or lets a check fail that its session depends on.

#include "sim/record/history.hpp"
#include "sim/record/semaphore_recipes.hpp"

#include <optional>
#include <string>
#include <variant>

namespace belay::sim {

/// The sessions that any client of this kind asked for: each may end another one's.
using known_sessions = std::vector<std::string>;

/// Says what to ask next, and learns from the answers. One at a time.
class lock_client {
public:
  /// An acquire that is to be tried when a lock-delay is over.
  struct acquire_later {
    state::command acquire;
    virtual_time left;
  };
  /// Nothing, or one of the three kinds of operations.
  using request = std::variant<std::monostate, state::command, acquire_later, http::read_request, session_renewal>;

  /// @pre `all` outlives it. @param client_agents so many there are: sessions of some clients are tied to their nodes
  lock_client(std::size_t number, known_sessions& all, std::size_t client_agents);

  /// @param drawn decides, as in `workload`; @param fresh a number that no command had before
  request next(std::uint64_t drawn, std::uint64_t fresh, virtual_time now);
  /// What is needed to keep the session, if it has one and it is time.
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
  bool of_agent_;    ///< whose node that is: others keep it
  bool contends_;    ///< for the semaphore; else for locks
  known_sessions& all_;
  step step_ = step::idle;
  bool node_known_;
  std::uint64_t sessions_ = 0;    ///< asked for so far
  state::session_record session_; ///< id empty: none
  virtual_time renewed_{0};
  virtual_time asleep_until_{0};
  std::string wanted_, held_;  ///< lock, or slot of the semaphore that has a key for each
  std::uint64_t slot_ = 0;     ///< to be tried next
  virtual_time delay_left_{0}; ///< of what it wants
  // of the semaphore: what it saw last
  bool entered_ = false, holds_ = false;
  bool seen_ = false;
  log_index holders_at_;
  std::vector<std::string> holders_;
};

} // namespace belay::sim
