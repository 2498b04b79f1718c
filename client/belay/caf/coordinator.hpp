#pragma once
// Locks, permits and leaderships for actors.
//
// A coordinator is a local actor that has one session at the servers, over the library's own
// transport. Other actors send it requests (belay/caf/messages.hpp).
//
// Guarantees: a lease belongs to the actor that requested it. When that actor ends, its leases are
// released at once, and its waiting requests withdrawn. While a grant is safe() no other actor has
// it, here or elsewhere. An actor that loses a lease gets a `lost`, ahead of the messages in its
// mailbox. Every request is answered within its own time limit. Nothing blocks CAF's threads.
// Survives: what belay::mutex and the other recipes survive. Actors that end in any way, linked or
// not; the loss of a node whose actors have leases here: they end with the connection. On failure:
// *refused* or *unknown*, as an error that error_of() reads. If the process is killed, the session
// ends by its TTL, and the lock delay follows. Only heartbeats detect a node that hangs or is cut
// off (middleman.heartbeat-interval, middleman.connection-timeout). They are off by default. Until
// one detects it, its actors keep their leases. A busy actor gets a message late: use the fencing
// token.
//
// A link never ends a coordinator: link to it if your actor should end when it does. End it with
// anon_send_exit(), which names no sender, or `close`: it then releases all leases and ends the
// session, within client_options::linger. Do so before the actor system, which waits for it, ends.

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

/// May be published to the other nodes of your own actor system (caf::io): it requires no token.
using coordinator_actor =
    ::caf::typed_actor<::caf::replies_to<lock>::with<grant>, ::caf::replies_to<permits>::with<grant>,
                       ::caf::replies_to<campaign>::with<grant>, ::caf::replies_to<check>::with<grant>,
                       ::caf::reacts_to<release>, ::caf::reacts_to<transfer>,
                       ::caf::replies_to<who_leads>::with<leadership>, ::caf::replies_to<get>::with<key_value>,
                       ::caf::reacts_to<put>, ::caf::replies_to<follow>::with<key_value>, ::caf::reacts_to<unfollow>,
                       ::caf::replies_to<look_at_session>::with<session_now>, ::caf::reacts_to<close>>;

class coordinator_options {
public:
  coordinator_options() = default;
  /// Requests in progress, followed keys included; more are refused with reason::limit.
  std::size_t calls_max = 1024;
  /// Leases of all actors together.
  std::size_t leases_max = 4096;
  /// For tests and other ways to send requests; null: socket_transport().
  std::shared_ptr<transport> over;
  /// The clock of sessions. On a test scheduler: one that advances with it.
  std::function<instant()> now = [] { return lease_clock::now(); };
  /// Seed of random pauses; zero: a different one each time.
  std::uint64_t seed = 0;
};

/// Sends nothing: the session is opened for the first request that needs it.
coordinator_actor coordinator(::caf::actor_system& system, const client_options& options,
                              coordinator_options more = coordinator_options());

} // namespace caf
} // namespace v0
} // namespace belay
