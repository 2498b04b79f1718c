#pragma once
// The messages between actors and a coordinator. They can be sent between the CAF nodes of one
// system: each node calls add_to() with its configuration.
//
// In namespace belay, or after using it, `caf` is this namespace: write `::caf` for CAF's own.

#include <belay/lease.hpp>
#include <belay/result.hpp>
#include <belay/session.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace belay {
inline namespace v0 {
namespace caf {

// Requests. `within`: the time until a decision. The response comes by then, so CAF's request needs
// no timeout (caf::infinite). An actor that gave up would not know what it holds.

/// belay::mutex. The response, a `grant`, comes when it is this actor's turn.
struct lock {
  std::string key;
  milliseconds within{5000};
  std::string value; ///< the value of the key, for others to read
  recipe how = recipe::keys;
};

/// belay::semaphore: `permits` out of at most `max`.
struct permits {
  std::string name;
  std::uint64_t max = 1;
  milliseconds within{5000};
  std::uint64_t permits = 1;
  recipe how = recipe::automatic;
};

/// belay::election: waits until this actor leads. `value` is what observers see.
struct campaign {
  std::string name;
  std::string value;
  milliseconds within{5000};
  recipe how = recipe::automatic;
};

/// What an actor holds.
struct grant {
  std::uint64_t id = 0; ///< identifies this lease in check, release, transfer
  std::string name;
  std::uint64_t fence = 0; ///< the fencing token, lease::fence()
  /// lease::safe_until() when this was sent, by the clock of the coordinator's machine: see safe().
  /// Each renewal extends it; send a `check` for the present time.
  std::chrono::nanoseconds safe_until{0};
  /// The same as a duration, for other machines: in a response to `check`, from when it *was sent*.
  milliseconds safe_for{0};

  /// Whether no other actor has it, as of this message. @pre on the coordinator's machine
  bool safe() const noexcept { return lease_clock::now().time_since_epoch() < safe_until; }
};

/// Sent to the holder: it is lost, with the session. Typed actors with leases must accept this.
struct lost {
  std::uint64_t id = 0;
  std::string name;
  std::string reason;
};

/// The response is a `grant`; refused with reason::session if this actor does not hold it.
struct check {
  std::uint64_t id = 0;
};

/// Releases it. If it is sent without a request, there is no response.
struct release {
  std::uint64_t id = 0;
  milliseconds within{5000};
};

/// belay::election::transfer()
struct transfer {
  std::uint64_t id = 0;
  milliseconds within{5000};
};

/// Requests the current leader.
struct who_leads {
  std::string name;
  milliseconds within{5000};
  recipe how = recipe::automatic;
};
struct leadership {
  bool taken = false;
  std::string value;
  std::string session;
  std::uint64_t fence = 0;
};

struct get {
  std::string key;
  milliseconds within{5000};
};
struct put {
  std::string key;
  std::string value;
  milliseconds within{5000};
};
/// A key as it was read.
struct key_value {
  std::string key;
  bool there = false;
  std::string value;
  std::uint64_t flags = 0;
  std::string session;
  std::uint64_t index = 0;
};

/// The response is the present state; each change follows as a `changed`, until the actor ends or
/// sends `unfollow`. The next one is sent when the previous one was handled: a slow actor gets the
/// newest value, not each. Typed actors that follow must accept `changed`.
struct follow {
  std::string key;
  milliseconds within{5000};
};
struct unfollow {
  std::string key;
};
struct changed {
  key_value now;
};

struct look_at_session {};
struct session_now {
  session_state state = session_state::closed;
  std::string id;
  milliseconds safe_for{0};
  std::string lost_reason;
  std::uint64_t leases = 0; ///< of all actors
  std::uint64_t calls = 0;  ///< requests in progress
};

/// Ends the coordinator, as an exit message does. The response comes when the session has ended.
struct close {};

#define BELAY_INSPECT(type, ...)                                                                                       \
  template <class Inspector>                                                                                           \
  typename Inspector::result_type inspect(Inspector& f, belay::caf::type& x) {                                         \
    return f(::caf::meta::type_name("belay::caf::" #type), __VA_ARGS__);                                               \
  }
#define BELAY_INSPECT_EMPTY(type)                                                                                      \
  template <class Inspector>                                                                                           \
  typename Inspector::result_type inspect(Inspector& f, belay::caf::type&) {                                           \
    return f(::caf::meta::type_name("belay::caf::" #type));                                                            \
  }
BELAY_INSPECT(lock, x.key, x.within, x.value, x.how)
BELAY_INSPECT(permits, x.name, x.max, x.within, x.permits, x.how)
BELAY_INSPECT(campaign, x.name, x.value, x.within, x.how)
BELAY_INSPECT(grant, x.id, x.name, x.fence, x.safe_until, x.safe_for)
BELAY_INSPECT(lost, x.id, x.name, x.reason)
BELAY_INSPECT(check, x.id)
BELAY_INSPECT(release, x.id, x.within)
BELAY_INSPECT(transfer, x.id, x.within)
BELAY_INSPECT(who_leads, x.name, x.within, x.how)
BELAY_INSPECT(leadership, x.taken, x.value, x.session, x.fence)
BELAY_INSPECT(get, x.key, x.within)
BELAY_INSPECT(put, x.key, x.value, x.within)
BELAY_INSPECT(key_value, x.key, x.there, x.value, x.flags, x.session, x.index)
BELAY_INSPECT(follow, x.key, x.within)
BELAY_INSPECT(unfollow, x.key)
BELAY_INSPECT(changed, x.now)
BELAY_INSPECT(session_now, x.state, x.id, x.safe_for, x.lost_reason, x.leases, x.calls)
BELAY_INSPECT_EMPTY(look_at_session)
BELAY_INSPECT_EMPTY(close)
#undef BELAY_INSPECT
#undef BELAY_INSPECT_EMPTY

/// The error in the response to a refused or unknown call: category "belay". error_of() reads it.
::caf::error error_to_send(const error& why);
/// CAF's own errors (coordinator or node gone, request timed out) are *unknown*, reason::no_answer.
error error_of(const ::caf::error& e);
/// The text that CAF shows for such an error.
std::string text_of_error(std::uint8_t code, ::caf::atom_value, const ::caf::message& context);

} // namespace caf
} // namespace v0
} // namespace belay

// Type numbers are local to a process. A program with over 8,300 types has to start elsewhere.
CAF_BEGIN_TYPE_ID_BLOCK(belay_client, caf::first_custom_type_id + 8300)
CAF_ADD_TYPE_ID(belay_client, (belay::caf::lock))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::permits))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::campaign))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::grant))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::lost))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::check))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::release))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::transfer))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::who_leads))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::leadership))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::get))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::put))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::key_value))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::follow))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::unfollow))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::changed))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::look_at_session))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::session_now))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::close))
CAF_END_TYPE_ID_BLOCK(belay_client)

namespace belay {
inline namespace v0 {
namespace caf {

/// Call it before creating the actor system: registers the messages and the texts of errors.
inline ::caf::actor_system_config& add_to(::caf::actor_system_config& config) {
  config.add_message_types<::caf::id_block::belay_client>();
  config.add_error_category(::caf::atom("belay"), &text_of_error);
  return config;
}

} // namespace caf
} // namespace v0
} // namespace belay
