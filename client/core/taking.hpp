#pragma once
// Recipes as one call each, for callers without a recipe object: it lives in the call's frame.

#include <belay/election.hpp>
#include <belay/mutex.hpp>
#include <belay/semaphore.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace belay {
inline namespace v0 {
namespace detail {

inline task<result<lease>> take_mutex(session& s, std::string key, mutex_options options, deadline limit) {
  mutex lock(s, key, options);
  result<lease> h = co_await lock.acquire(limit);
  co_return std::move(h);
}

inline task<result<lease>> take_permits(session& s, std::string name, std::uint64_t max, recipe how,
                                        std::uint64_t permits, deadline limit) {
  semaphore all(s, name, max, how);
  result<lease> h = co_await all.acquire(permits, limit);
  co_return std::move(h);
}

inline task<result<lease>> take_leadership(session& s, std::string name, recipe how, std::string value,
                                           deadline limit) {
  election contest(s, name, how);
  result<lease> h = co_await contest.campaign(value, limit);
  co_return std::move(h);
}

/// @pre the session is open if `how` is automatic
inline task<result<std::optional<leader>>> current_leader(session& s, std::string name, recipe how, deadline limit) {
  bool claims = how == recipe::claims || (how == recipe::automatic && s.has_claims());
  election_observer seen(s.env(), name, claims);
  result<std::optional<leader>> now = co_await seen.next(limit);
  co_return now;
}

/// A session shared by several callers, opened when one first needs it, and again after a loss.
class shared_session {
public:
  shared_session(environment& env, session_options options) : it_(env, std::move(options)) {}

  session& operator*() noexcept { return it_; }
  session* operator->() noexcept { return &it_; }

  /// One of the callers opens it, the others wait.
  task<status> open(deadline limit) {
    for (;;) {
      bool have = it_.state() == session_state::live || it_.state() == session_state::uncertain;
      if (have)
        co_return nothing();
      if (limit.over(it_.env().now()))
        co_return limit.error();
      if (opening_) {
        co_await sleep_until(it_.env(), limit.at(), limit.stop(), &opened_);
        continue;
      }
      opening_scope mine(*this);
      status made = co_await it_.open(limit);
      if (!made)
        co_return made.error();
    }
  }

private:
  class opening_scope {
  public:
    explicit opening_scope(shared_session& s) : whose_(s) { whose_.opening_ = true; }
    ~opening_scope() {
      whose_.opening_ = false;
      whose_.opened_.wake_all();
    }
    opening_scope(const opening_scope&) = delete;
    opening_scope& operator=(const opening_scope&) = delete;

  private:
    shared_session& whose_;
  };

  session it_;
  stop_source opened_;
  bool opening_ = false;
};

} // namespace detail
} // namespace v0
} // namespace belay
