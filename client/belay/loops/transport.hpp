#pragma once
// Sends requests to servers, for environments whose recipes run elsewhere: in an actor, say.

#include <belay/client.hpp>
#include <belay/environment.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace belay {
inline namespace v0 {

class transport {
public:
  /// Called once, on a thread of the transport, never inside of ask().
  using completion = std::function<void(answer)>;

  virtual ~transport() = default;
  /// Does not block.
  /// @param ticket must be new
  /// @param deadline `done` is called by then, if only with the error that there is no response
  virtual void ask(std::uint64_t ticket, const request& q, instant deadline, completion done) = 0;
  /// The response is not needed: withdraws the request if possible. `done` may still be called.
  virtual void forget(std::uint64_t ticket) noexcept = 0;
};

/// The transport of belay::client: the same servers, token, TLS, and limits. It has its own thread.
/// The destructor waits for that thread, which may be in a name lookup, and drops requests. If the
/// options are invalid, every request is answered with that error.
std::unique_ptr<transport> socket_transport(const client_options& options);

} // namespace v0
} // namespace belay
