#pragma once
// The actor of a coordinator: calls, each a coroutine; holds; and the actors that it monitors.

#include "client/core/taking.hpp"

#include "client/core/loop_environment.hpp"
#include <belay/caf/coordinator.hpp>

#include <caf/response_promise.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace belay {
inline namespace v0 {
namespace caf {
namespace detail {

/// Sent to itself, from the transport's thread.
struct answered {
  std::uint64_t ticket;
  answer received;
};
/// Sent to itself. Timers cannot be cancelled: only the newest number counts.
struct tick {
  std::uint64_t number;
};

} // namespace detail
} // namespace caf
} // namespace v0
} // namespace belay

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(belay::caf::detail::answered)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(belay::caf::detail::tick)

namespace belay {
inline namespace v0 {
namespace caf {
namespace detail {

using coordinator_self =
    coordinator_actor::extend<::caf::reacts_to<answered>, ::caf::reacts_to<tick>>; // sent to itself

class coordinator_state final : public coordinator_self::base {
public:
  coordinator_state(::caf::actor_config& config, client_options options, coordinator_options more);

  behavior_type make_behavior() override;
  const char* name() const override { return "belay coordinator"; }
  void on_exit() override;

private:
  using party = ::caf::actor_addr;
  using taking = std::function<task<result<lease>>(session&, deadline)>;

  /// A request in progress.
  struct call {
    ::caf::response_promise reply;
    bool needs_reply = true;
    party from;
    bool withdrawn_with_actor = false; ///< false: it is answered soon, and continues if its actor ends
    task<void> running;
  };
  struct holding {
    lease it;
    party holder;
    std::string name;
  };
  struct following {
    std::string key;
    bool handled = true; ///< whether the follower has handled the last message
    stop_source when_handled;
  };

  // Requests, in coordinator_calls.cpp.
  enum class replies { always, to_requests };
  enum class bound {
    no,        ///< it releases something
    yes,       ///< it counts towards calls_max
    long_wait, ///< and its actor is monitored: the call is withdrawn when that ends
  };

  void take(std::string name, milliseconds within, taking make);
  void begin_check(const check& m);
  void begin_release(const release& m);
  void begin_transfer(const transfer& m);
  /// Starts a call that needs only its message.
  /// @param serve its coroutine, with its deadline
  template <class Message>
  void begin(replies to, Message m, task<void> (coordinator_state::*serve)(std::uint64_t, Message, deadline)) {
    if (auto number = enter(to, bound::yes)) {
      auto limit = within(m.within);
      start(number, (this->*serve)(number, std::move(m), limit));
    }
    settle();
  }
  void begin_follow(follow m);
  void end_follow(const unfollow& m);
  void notify_change(std::uint64_t number, key_value now);
  session_now session_as_it_is();

  // Their coroutines.
  task<void> serve_take(std::uint64_t number, std::string name, taking make, deadline limit);
  task<void> serve_release(std::uint64_t number, lease h, deadline limit);
  task<void> serve_transfer(std::uint64_t number, std::uint64_t id, std::string name, lease h, deadline limit);
  task<void> serve_who_leads(std::uint64_t number, who_leads m, deadline limit);
  task<void> serve_get(std::uint64_t number, get m, deadline limit);
  task<void> serve_put(std::uint64_t number, put m, deadline limit);
  task<void> serve_follow(std::uint64_t number, std::string key, deadline limit);
  task<void> release_late(std::uint64_t number, lease h);

  /// Accepts the present message as a call. @returns 0: it was refused
  std::uint64_t enter(replies to, bound how);
  void start(std::uint64_t number, task<void> t);
  /// The last thing that a call's coroutine does.
  /// @param what a message, or an error
  template <class T>
  void finish(std::uint64_t number, T what);
  /// The same, for calls whose response is empty.
  void finish(std::uint64_t number, const status& what);
  void forget_call(std::uint64_t number);
  deadline within(milliseconds length);
  grant described(std::uint64_t id, const holding& h);
  /// The lease with that ID, if that actor owns it.
  std::map<std::uint64_t, holding>::iterator own(std::uint64_t id, const party& who);
  void keep(std::uint64_t id, lease h, const party& holder, std::string name);

  // The actors that send requests, in coordinator_actor.cpp.
  static error closed();
  void attend(const party& who);
  void leave(const party& who);
  void ended(const party& who);
  void exit_message(::caf::exit_msg& m);
  void begin_to_close(::caf::error cause);
  task<void> close_session(deadline limit);
  void look_for_losses();
  void notify_lost(const party& holder, std::uint64_t id, const std::string& name, const std::string& cause);
  void lose(std::map<std::uint64_t, holding>::iterator h, const std::string& cause);
  /// Called after each handler: finishes stopped operations, destroys ended coroutines and this.
  void settle();

  client_options options_;
  coordinator_options more_;
  std::uint64_t tick_number_ = 0;
  std::unique_ptr<loop_environment> env_;
  std::unique_ptr<belay::detail::shared_session> session_;
  std::uint64_t next_call_ = 1;
  std::uint64_t next_hold_ = 1;
  std::map<party, std::size_t> parties_; ///< number of calls and leases for which the actor is monitored
  std::map<std::uint64_t, std::unique_ptr<call>> calls_;
  std::map<std::uint64_t, holding> leases_;
  std::map<std::uint64_t, std::unique_ptr<following>> follows_; ///< by call
  std::vector<task<void>> over_;
  bool closing_ = false;
  bool closed_ = false;
  ::caf::error cause_;
  std::vector<::caf::response_promise> closers_;
  task<void> close_;
};

template <class T>
void coordinator_state::finish(std::uint64_t number, T what) {
  auto& c = *calls_.at(number);
  if (c.needs_reply)
    c.reply.deliver(std::move(what));
  forget_call(number);
}

} // namespace detail
} // namespace caf
} // namespace v0
} // namespace belay
