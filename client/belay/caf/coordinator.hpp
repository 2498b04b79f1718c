#pragma once
// Locks, permits and offices for actors.
//
// A coordinator is a local actor that has one session at the servers, over the library's own transport. Other actors ask it by
// messages (belay/caf/messages.hpp).
//
// Promise: a hold belongs to the actor that asked. The coordinator monitors it: when it ends, what it holds is given back at once,
// and what it waits for is withdrawn. While a grant is safe() nobody else has it, in this process or elsewhere. When a hold is lost
// its actor is told by a `lost`, ahead of the messages that wait in its mailbox. Every request is answered within the time that it
// brings. Nothing waits on CAF's threads: requests are carried by a thread of the transport.
// Survives: as belay::mutex and the other recipes, for servers and answers. Actors that end in any way, linked or not; the loss of
// a node of the actor system whose actors have holds through this coordinator: they end with the connection to that node.
// When it cannot: *refused* or *unknown*, as an error of CAF's that error_of() reads. A process that is killed ends its session by
// the TTL, and the lock delay follows. A node that hangs, or is cut off without a word, is only noticed by heartbeats
// (middleman.heartbeat-interval, middleman.connection-timeout), which are off by default: its actors keep their holds until then.
// A message comes late if its actor is busy: what must never be done twice is guarded by the fence.
//
// A link never ends a coordinator: link to it if its end should be yours. It is ended by
// anon_send_exit(), which no actor is named in, or by `close`: then holds are given back and the session is ended, for which it takes
// client_options::linger at most. Do that before the actor system is destroyed, which waits for it.

#include <belay/caf/messages.hpp>
#include <belay/client.hpp>
#include <belay/loops/transport.hpp>

#include <caf/actor_system.hpp>
#include <caf/typed_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace belay {
inline namespace v0 {
namespace caf {

/// May be published to the other nodes of one's own actor system (caf::io): there is no token at that door.
using coordinator_actor =
    ::caf::typed_actor<::caf::replies_to<lock>::with<grant>, ::caf::replies_to<permits>::with<grant>,
                       ::caf::replies_to<campaign>::with<grant>, ::caf::replies_to<check>::with<grant>,
                       ::caf::reacts_to<release>, ::caf::reacts_to<hand_over>,
                       ::caf::replies_to<who_leads>::with<leadership>, ::caf::replies_to<get>::with<key_value>,
                       ::caf::reacts_to<put>, ::caf::replies_to<follow>::with<key_value>, ::caf::reacts_to<unfollow>,
                       ::caf::replies_to<look_at_session>::with<session_now>, ::caf::reacts_to<close>>;

class coordinator_options {
public:
  coordinator_options() = default;
  /// Requests that are not answered yet, keys that are followed among them: more are refused with reason::limit.
  std::size_t calls_max = 1024;
  /// Holds of all actors together.
  std::size_t holds_max = 4096;
  /// For tests, and where requests go another way: null is socket_transport().
  std::shared_ptr<transport> over;
  /// The clock of sessions. On a test scheduler: one that goes on with it.
  std::function<instant()> now = [] { return lease_clock::now(); };
  /// Of random pauses; zero: another one each time.
  std::uint64_t seed = 0;
};

/// Does not ask a server: the session is opened when something is first to be held.
coordinator_actor coordinator(::caf::actor_system& system, const client_options& options,
                              coordinator_options more = coordinator_options());

} // namespace caf
} // namespace v0
} // namespace belay
