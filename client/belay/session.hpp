#pragma once
// A session: what everything that is held is held by.
//
// Promise: it is renewed at a third of its TTL, by a clock that is never set. safe_until() is a time before which no server
// has ended it: the TTL counted from when the last acknowledged renewal was *asked*, less a hundredth for clocks that run at
// different speeds. Past it the session is lost, whatever servers say later.
// Survives: elections, servers that go away and come back, lost answers: it is *uncertain* meanwhile and tries again after
// 100, 200, 400 ms, with a random part; safe_until() stays as it was.
// When it cannot: it is *lost*, with the reason: what the server says of its end, or that nobody could be asked in time.
// Whatever is held by it is lost with it; ended() wakes who waits.
//
// A process that is stopped (by SIGSTOP, a debugger, a hypervisor) may look at safe_until() too late: what must never be
// done twice is guarded by the fence.

#include <belay/keys.hpp>
#include <belay/task.hpp>
#include <belay/world.hpp>

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

enum class session_state : std::uint8_t {
  closed,    ///< not opened yet, or closed
  live,      ///< the last renewal was acknowledged
  uncertain, ///< the last renewal was not; there is time left
  lost,
};

enum class session_mode : std::uint8_t {
  consul, ///< ended between once and twice of the TTL: what Consul does
  exact,  ///< ended at the TTL; Belay only, refused elsewhere
};

/// Something that the server does when a session ends, however it ends (Belay only).
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
  /// After a loss nobody gets what was held for so long. Zero: at once.
  milliseconds lock_delay{15000};
  session_mode mode = session_mode::consul;
  /// Keys locked by it are deleted when it ends, not released.
  bool deletes_keys = false;
  /// Done by the server when it ends, in this order; at most 64. Refused where there are no exact TTLs, either.
  std::vector<end_operation> on_end;
  /// Says when clocks are not to be trusted: then it is not renewed. May be null; must outlive the session.
  const clock_guard* guard = nullptr;
};

/// How something is given back. What is asked and not answered may come to the server at any later time, when the same session has
/// got the same again: it must not take that away.
class giving_back {
public:
  giving_back() = default;
  /// Of what one that comes late does no harm: it names something that nobody gets again.
  explicit giving_back(request harmless);
  /// The server does it once at most, by an idempotency key, however often it comes.
  giving_back(request plain, std::string idempotency_key);
  /// Looks at the key, and asks for something that holds for this very state of it. @param exactly nullopt: there is nothing to give back
  giving_back(std::string key, std::function<std::optional<request>(const entry&)> exactly);

  /// @pre it looks at a key. To be tried before that is looked at.
  void begin_with(request q) { question_ = std::move(q); }
  /// Asked again from now on, it is something else than what was asked before.
  void begin_anew(world& w);
  /// Once, or again after a conflict, until the deadline. @returns the answer; 200 and `false` if there was nothing to give back
  static task<answer> ask(world& w, giving_back what, patience limit);

private:
  std::optional<request> question_;
  std::string idempotency_key_; ///< empty: it has none
  std::string key_;
  std::function<std::optional<request>(const entry&)> exactly_;
};

class session {
public:
  session(world& w, session_options options);
  /// Asks nothing: the server ends it at its TTL. close() ends it at once.
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Makes a new one. @pre closed or lost. @returns refused or unknown as of the last try
  task<status> open(patience limit);
  /// Gives back what is owed, for as long as the limit lasts, and ends it, and with it everything that it still holds.
  task<status> close(patience limit);

  session_state state() const noexcept { return state_; }
  const std::string& id() const noexcept { return id_; }
  instant safe_until() const noexcept { return safe_until_; }
  /// Whether it is certain that no server has ended it.
  bool safe();
  /// Why it was lost; empty if it was not.
  const std::string& lost_because() const noexcept { return lost_because_; }
  /// Stops when it is lost or closed; open() resets it.
  stopper& ended() noexcept { return ended_; }
  /// Called after each change of state() or safe_until(), in the world's loop. It may not destroy the session.
  void on_change(std::function<void()> told) { told_ = std::move(told); }

  world& where() noexcept { return world_; }
  const session_options& options() const noexcept { return options_; }
  /// Whether the server has claims: asked once, when it is opened.
  bool has_claims() const noexcept { return has_claims_; }

  /// Whose turn it is with a name, among those who share this session. The server knows sessions only, so that it would
  /// grant to all of them.
  class turn {
  public:
    turn() = default;
    turn(session& s, std::string name);
    turn(turn&& other) noexcept;
    turn& operator=(turn&& other) noexcept;
    ~turn() { leave(); }
    bool has_come() const;
    void leave() noexcept;

  private:
    session* session_ = nullptr;
    std::string name_;
    std::uint64_t number_ = 0;
  };
  stopper& turns() noexcept { return turns_; }

  /// Something to be asked until it is answered, at leisure: giving back what nobody waits for. It is done with when the
  /// session ends. `t` is kept until then. `twice`: once more a second later, behind requests that are still on their way.
  void owe(giving_back what, turn t, bool twice = false);
  bool owes() const noexcept { return !debts_.empty(); }

private:
  struct debt {
    giving_back what;
    turn kept;
    bool twice;
    debt(giving_back g, turn t, bool b) : what(std::move(g)), kept(std::move(t)), twice(b) {}
  };

  task<void> renew();
  task<void> pay();
  request creation() const;
  void extend(instant asked);
  void lose(std::string why);
  void over();
  void tell();

  world& world_;
  session_options options_;
  session_state state_ = session_state::closed;
  std::string id_;
  instant safe_until_{};
  instant renew_at_{};
  std::string lost_because_;
  bool has_claims_ = false;
  bool probed_ = false;
  bool closing_ = false;
  std::function<void()> told_;
  stopper ended_;
  stopper turns_;
  std::map<std::string, std::deque<std::uint64_t>> waiting_;
  std::uint64_t next_turn_ = 1;
  stopper debt_bell_;
  stopper closing_bell_;
  stopper paid_;
  std::deque<debt> debts_;
  task<void> renewing_;
  task<void> paying_;
};

} // namespace v0
} // namespace belay
