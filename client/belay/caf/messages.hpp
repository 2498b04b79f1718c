#pragma once
// What actors and a coordinator say to each other. All of it can be sent between the CAF nodes of one system: each of them calls
// add_to() with its configuration.
//
// Inside of namespace belay, and below a `using namespace belay`, `caf` is this namespace: write `::caf` there for CAF's own.

#include <belay/hold.hpp>
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

// What can be asked for. `within`: how long it may take until it is decided; the answer comes then, so that a request of CAF's
// needs no time limit of its own (caf::infinite). An actor that gave up on the answer would not know what it holds.

/// belay::mutex: answered by `grant` when it is this actor's turn.
struct lock {
  std::string key;
  milliseconds within{5000};
  std::string value; ///< what others read in the key
  recipe how = recipe::keys;
};

/// belay::semaphore: `permits` of at most `most`.
struct permits {
  std::string name;
  std::uint64_t most = 1;
  milliseconds within{5000};
  std::uint64_t permits = 1;
  recipe how = recipe::automatic;
};

/// belay::election: waits until this actor has the office. `value` is what others see.
struct campaign {
  std::string name;
  std::string value;
  milliseconds within{5000};
  recipe how = recipe::automatic;
};

/// What an actor has.
struct grant {
  std::uint64_t id = 0; ///< of this hold, for check, release, hand_over
  std::string name;
  std::uint64_t fence = 0; ///< hold::fence()
  /// hold::safe_until() when this was sent, by the clock of the coordinator's machine: see safe(). It moves on with each renewal;
  /// `check` asks for the present one.
  std::chrono::nanoseconds safe_until{0};
  /// The same as a length, for actors on other machines: as an answer to `check`, counted from when *that was sent*.
  milliseconds safe_for{0};

  /// Whether nobody else has it, as far as this message says. @pre on the coordinator's machine
  bool safe() const noexcept { return lease_clock::now().time_since_epoch() < safe_until; }
};

/// Sent to who has it: it is lost, with the session. Nobody has to give it back. Typed actors that ask for holds accept this.
struct lost {
  std::uint64_t id = 0;
  std::string name;
  std::string because;
};

/// Answered by `grant`; refused with reason::session if this actor does not have it (any more).
struct check {
  std::uint64_t id = 0;
};

/// Gives it back. Sent without a request it is answered by nothing.
struct release {
  std::uint64_t id = 0;
  milliseconds within{5000};
};

/// belay::election::hand_over()
struct hand_over {
  std::uint64_t id = 0;
  milliseconds within{5000};
};

/// Who has an office.
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

/// Answered by what is there now; each change comes as a `changed` afterwards, until the actor ends or says `unfollow`. The next
/// one is sent when the one before was handled: who is slow sees the newest value, and not each. Typed actors that follow accept
/// `changed`.
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
  std::string lost_because;
  std::uint64_t holds = 0; ///< of all actors
  std::uint64_t calls = 0; ///< that are not answered yet
};

/// Ends the coordinator, as an exit message does; answered when the session is ended.
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
BELAY_INSPECT(permits, x.name, x.most, x.within, x.permits, x.how)
BELAY_INSPECT(campaign, x.name, x.value, x.within, x.how)
BELAY_INSPECT(grant, x.id, x.name, x.fence, x.safe_until, x.safe_for)
BELAY_INSPECT(lost, x.id, x.name, x.because)
BELAY_INSPECT(check, x.id)
BELAY_INSPECT(release, x.id, x.within)
BELAY_INSPECT(hand_over, x.id, x.within)
BELAY_INSPECT(who_leads, x.name, x.within, x.how)
BELAY_INSPECT(leadership, x.taken, x.value, x.session, x.fence)
BELAY_INSPECT(get, x.key, x.within)
BELAY_INSPECT(put, x.key, x.value, x.within)
BELAY_INSPECT(key_value, x.key, x.there, x.value, x.flags, x.session, x.index)
BELAY_INSPECT(follow, x.key, x.within)
BELAY_INSPECT(unfollow, x.key)
BELAY_INSPECT(changed, x.now)
BELAY_INSPECT(session_now, x.state, x.id, x.safe_for, x.lost_because, x.holds, x.calls)
BELAY_INSPECT_EMPTY(look_at_session)
BELAY_INSPECT_EMPTY(close)
#undef BELAY_INSPECT
#undef BELAY_INSPECT_EMPTY

/// What a refused or unknown call is answered with: category "belay". error_of() reads it.
::caf::error error_to_send(const error& why);
/// Errors of CAF's own (the coordinator has ended, its node is gone, a request's time is over) are *unknown*, reason::no_answer.
error error_of(const ::caf::error& e);
/// What CAF shows of such an error.
std::string text_of_error(std::uint8_t code, ::caf::atom_value, const ::caf::message& context);

} // namespace caf
} // namespace v0
} // namespace belay

// Numbers of types are of one process; between nodes names are sent. Whoever has more than 8,300 types of his own begins elsewhere.
CAF_BEGIN_TYPE_ID_BLOCK(belay_client, caf::first_custom_type_id + 8300)
CAF_ADD_TYPE_ID(belay_client, (belay::caf::lock))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::permits))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::campaign))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::grant))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::lost))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::check))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::release))
CAF_ADD_TYPE_ID(belay_client, (belay::caf::hand_over))
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

/// Before the actor system is made: lets it send these messages between nodes, and show errors of this library.
inline ::caf::actor_system_config& add_to(::caf::actor_system_config& config) {
  config.add_message_types<::caf::id_block::belay_client>();
  config.add_error_category(::caf::atom("belay"), &text_of_error);
  return config;
}

} // namespace caf
} // namespace v0
} // namespace belay
