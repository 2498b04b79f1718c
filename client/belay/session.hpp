#pragma once
// A session: the owner of all locks, permits and leaderships that a program holds.
//
// Guarantees: it is renewed at a third of its TTL, by a clock that is never set. No server has
// ended it before safe_until(): the TTL from when the last acknowledged renewal was *sent*, less a
// hundredth for clock drift. After that it is lost, whatever servers respond later.
// Survives: elections, restarts, lost responses. It is *uncertain* meanwhile and retries after 100,
// 200, 400 ms, with jitter; safe_until() does not move.
// On failure: it is *lost*, with a reason: why the server ended it, or that none responded in time.
// Everything that it holds is lost with it; ended() wakes the tasks that wait.
//
// A process that is stopped (by SIGSTOP, a debugger, a hypervisor) may check safe_until() too late.
// Protect what must never be done twice with the fencing token.

#include <belay/environment.hpp>
#include <belay/keys.hpp>
#include <belay/task.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {

class clock_guard;
class lease;

enum class session_state : std::uint8_t {
  closed,    ///< not opened yet, or closed
  live,      ///< the last renewal was acknowledged
  uncertain, ///< the last renewal was not acknowledged, but safe_until() has not passed
  lost,
};

enum class session_mode : std::uint8_t {
  consul, ///< ends between one and two TTLs after the last renewal, as in Consul
  exact,  ///< ends one TTL after the last renewal; Belay only, rejected elsewhere
};

/// An operation that the server carries out when a session ends, for whatever reason (Belay only).
class end_operation {
public:
  /// Writes a key.
  static end_operation set(std::string key, std::string value) {
    return end_operation("set", std::move(key), std::move(value));
  }
  /// Erases a key.
  static end_operation erase(std::string key) { return end_operation("delete", std::move(key), {}); }

  const std::string& verb() const noexcept { return verb_; }
  const std::string& key() const noexcept { return key_; }
  const std::string& value() const noexcept { return value_; }

private:
  end_operation(std::string verb, std::string key, std::string value)
      : verb_(std::move(verb)), key_(std::move(key)), value_(std::move(value)) {}
  std::string verb_;
  std::string key_;
  std::string value_;
};

class session_options {
public:
  session_options() = default;
  std::string name = "belay";
  milliseconds ttl{15000};
  /// After a loss, no client can acquire what was held for this long. Zero: no delay.
  milliseconds lock_delay{15000};
  session_mode mode = session_mode::consul;
  /// When the session ends, keys locked by it are deleted, not released.
  bool deletes_keys = false;
  /// What the server does when the session ends, in this order; at most 64. Needs exact TTLs.
  std::vector<end_operation> on_end;
  /// While it distrusts the clocks, the session is not renewed. May be null; must outlive it.
  const clock_guard* guard = nullptr;
};

namespace detail {

/// How something is released. An unanswered request may reach the server at any later time, when
/// the same session has acquired the same name again. It must not release that one.
class pending_release {
public:
  pending_release() = default;
  /// Takes a request that is harmless when late, because it names an id that is never reused.
  explicit pending_release(request harmless);
  /// The idempotency key makes the server apply the request at most once, however often it arrives.
  pending_release(request plain, std::string idempotency_key);
  /// @param exactly makes a request that depends on the entry as read; nullopt: nothing to release
  pending_release(std::string key, std::function<std::optional<request>(const entry&)> exactly);

  /// The request to try before the key is read. @pre constructed with a key
  void begin_with(request q) { question_ = std::move(q); }
  /// From now on a repeat is a new request: it gets a new idempotency key.
  void renew_key(environment& env);
  /// Sends it, again after a conflict. @returns the response; 200 and `false`: nothing to release
  static task<answer> ask(environment& env, pending_release what, deadline limit);

private:
  std::optional<request> question_;
  std::string idempotency_key_; ///< empty: none
  std::string key_;
  std::function<std::optional<request>(const entry&)> exactly_;
};

} // namespace detail

class session {
public:
  session(environment& env, session_options options);
  /// Sends nothing: the session ends at its TTL. close() ends it at once.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Creates a new session. @pre closed or lost. @returns on failure: refused or unknown, the
  /// result of the last attempt
  task<status> open(deadline limit);
  /// Sends pending releases until the deadline, then ends the session and everything it holds.
  task<status> close(deadline limit);

  session_state state() const noexcept { return state_; }
  const std::string& id() const noexcept { return id_; }
  instant safe_until() const noexcept { return safe_until_; }
  /// Whether it is certain that no server has ended it.
  bool safe();
  /// Why it was lost; empty if it was not.
  const std::string& lost_reason() const noexcept { return lost_reason_; }
  /// Stops when the session is lost or closed; open() resets it.
  stop_source& ended() noexcept { return ended_; }
  /// Called on the loop after changes of state() and safe_until(). It must not destroy the session.
  void on_change(std::function<void()> notify) { on_change_ = std::move(notify); }

  environment& env() noexcept { return env_; }
  const session_options& options() const noexcept { return options_; }
  /// Whether the server supports claims. Determined once, by open().
  bool has_claims() const noexcept { return has_claims_; }

  /// A ticket in the queue for a name, among the tasks that share this session. The server knows
  /// only the session and would grant the name to all of them.
  class ticket {
  public:
    ticket() = default;
    ticket(session& s, std::string name);
    ticket(ticket&& other) noexcept;
    ticket& operator=(ticket&& other) noexcept;
    ~ticket() { leave(); }
    bool is_first() const;
    void leave() noexcept;

  private:
    session* session_ = nullptr;
    std::string name_;
    std::uint64_t number_ = 0;
  };
  /// Rings when a ticket leaves a queue.
  stop_source& queue_moved() noexcept { return queue_moved_; }

  /// Whether a release that no caller waits for has to be sent.
  bool has_pending_releases() const noexcept { return !pending_.empty(); }

private:
  friend class lease;
  /// Queues a release that no caller waits for: it is sent until a response or the session's end.
  /// Keeps `t` until then. `twice`: again a second later, after requests that are in flight.
  void release_later(detail::pending_release what, ticket t, bool twice);
  struct queued_release {
    detail::pending_release what;
    ticket kept;
    bool twice;
    queued_release(detail::pending_release g, ticket t, bool b) : what(std::move(g)), kept(std::move(t)), twice(b) {}
  };

  task<void> renew();
  task<void> send_releases();
  request creation() const;
  void extend(instant sent_at);
  void lose(std::string why);
  void over();
  void notify_owner();

  environment& env_;
  session_options options_;
  session_state state_ = session_state::closed;
  std::string id_;
  instant safe_until_{};
  instant renew_at_{};
  std::string lost_reason_;
  bool has_claims_ = false;
  bool probed_ = false;
  bool closing_ = false;
  std::function<void()> on_change_;
  stop_source ended_;
  stop_source queue_moved_;
  std::map<std::string, std::deque<std::uint64_t>> waiting_;
  std::uint64_t next_ticket_ = 1;
  stop_source pending_bell_;
  stop_source closing_bell_;
  stop_source released_;
  std::deque<queued_release> pending_;
  task<void> renewing_;
  task<void> releasing_;
};

} // namespace v0
} // namespace belay
