#pragma once
// Claims by docs/reference/claims.md and docs/internals/adr/0016-claims.md in their simplest form: holders, waiters,
// and what lock delays withhold. Shares only names, kinds and replies with protocol/state. kv_model
// applies the entries (kv_model_claims.cpp), because locks of keys have queues, too.

#include "protocol/state/claims/claim_answers.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

struct modelled_claim {
  std::string id, session;
  bool held = false;
  bool shared = false;
  bool refuses_deadlock = false;
  std::uint64_t permits = 1, priority = 0, ticket = 0;
  std::uint64_t fence = 0;          ///< held
  cluster_time requested, deadline; ///< deadline zero: it waits indefinitely
  payload value;
  std::uint64_t flags = 0; ///< flags of a key
  log_index changed;       ///< granted, or requested again
  std::string client = {}; ///< accessor of its token, or its address; empty: not in its entry
  /// Permissions of its newest request; nullopt: they are not checked again.
  std::optional<state::auth_context> by = {};

  bool operator==(const modelled_claim&) const = default;
};

/// What a holder in its lock delay still occupies: the lock, or its permits.
struct modelled_ghost {
  std::string id, session;
  bool shared = false;
  std::uint64_t permits = 1;
  cluster_time until;

  bool operator==(const modelled_ghost&) const = default;
};

struct modelled_resource {
  state::claim_kind kind = state::claim_kind::lock;
  std::uint64_t limit = 0;
  bool pinned = false;
  bool open = false;                              ///< was pinned, and no claim has named a limit since
  std::map<std::string, modelled_claim> claims;   ///< by id
  std::map<std::uint64_t, modelled_ghost> ghosts; ///< by fencing token

  /// Waiters, in the order in which they are granted.
  std::vector<const modelled_claim*> queue() const;
  /// Holders, ordered by fencing token.
  std::vector<const modelled_claim*> holders() const;
  /// Whether it has a reason to exist (docs/reference/claims.md, rule 2).
  bool has_reason() const { return pinned || !claims.empty() || !ghosts.empty(); }
  /// Whether no holder and no lock delay conflicts with it.
  bool fits(const modelled_claim& c) const;
  bool conflict(const modelled_claim& waiter, const modelled_claim& holder) const;
  bool operator==(const modelled_resource&) const = default;
};

struct claims_state {
  std::map<state::resource_name, modelled_resource> resources;
  std::map<std::string, state::resource_name> guards; ///< by prefix
  std::map<std::string, std::string> guard_clients;   ///< by prefix; none: its client is unknown

  const modelled_resource* find(const state::resource_name& of) const;
  const modelled_claim* find(const state::resource_name& of, const std::string& id) const;
  /// @param holder of the lock of a key; empty: none
  state::claim_answer standing(const state::resource_name& of, const modelled_claim& c,
                               const std::string& holder) const;
};
using claims_state_ptr = std::shared_ptr<const claims_state>;

/// Rule 31. Sessions wait for conflicting holders and for all before them in the queue. Without the
/// bounds of rule 32: simulated clients have a few dozen claims, and the smaller bound is 10,000.
struct circle_search {
  const claims_state& now;
  std::function<std::string(const std::string&)> holder_of_key;
  std::string session;                     ///< does it wait for itself?
  const modelled_claim* granted = nullptr; ///< it does not have to wait
  bool refusers_only = false;              ///< only cycles with a claim that requested `refuse` count
  bool starts_refusing = false;

  bool closes() const;
};

/// How a session ended (rule 22).
struct modelled_session_end {
  std::string id;
  std::string cause; ///< if it ends with a blank, only the beginning of the text
  log_index index;
  std::vector<state::resource_name> released = {}; ///< keys first
  std::uint64_t done = 0, refused = 0;             ///< operations of OnEnd
};

/// How long an id is remembered (rules 7 and 16).
constexpr std::uint64_t remembered_ms = 600'000;
/// Rule 7: the space that known clients may use for claims and remembered ends.
struct end_bounds {
  std::uint64_t bytes = std::uint64_t{1} << 30, share = 250'000;
};

/// Rule 34: how many guards known clients may have.
struct guard_bounds {
  std::size_t all = 2'000, share = 100;
};

/// How claims ended, by resource and id, at every moment.
class ended_claims {
public:
  struct end {
    state::claim_end why;
    std::string session;
    log_index index;
    cluster_time until;
    std::string client = {};
  };
  using name = std::pair<state::resource_name, std::string>;

  void put(const name& which, end e, log_index at) { all_[which].push_back({at, std::move(e)}); }
  void forget(const name& which, log_index at);
  void forget_those_over(cluster_time now, log_index at);
  /// Null: not remembered.
  const end* find(const name& which) const;
  const end* find_at(const name& which, log_index s) const;
  std::size_t count(log_index s) const;
  /// Calls `f(name, end)` for each that is remembered now.
  template <class F>
  void for_each_now(F&& f) const {
    for (const auto& [which, past] : all_)
      if (past.back().what)
        f(which, *past.back().what);
  }
  /// Restores what was remembered at `archive`, unless something newer is.
  void go_back(log_index archive, log_index at, cluster_time now);

private:
  struct version {
    log_index at;
    std::optional<end> what;
  };
  static const end* newest(const std::vector<version>& past, log_index s);

  std::map<name, std::vector<version>> all_;
};

} // namespace belay::sim
