#pragma once
// What carries requests to servers, for worlds whose recipes run on threads of somebody else: in an actor, say.

#include <belay/client.hpp>
#include <belay/world.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace belay {
inline namespace v0 {

class transport {
public:
  /// Called once, on a thread of the transport, never inside of ask().
  using told = std::function<void(answer)>;

  virtual ~transport() = default;
  /// Does not wait. @param ticket not used before
  /// @param deadline by then it is told, be it that there is no answer
  virtual void ask(std::uint64_t ticket, const request& q, instant deadline, told done) = 0;
  /// Nobody waits for it any more: what can be taken back is. It may still be told.
  virtual void forget(std::uint64_t ticket) noexcept = 0;
};

/// That of belay::client: the same servers, token, TLS, and limits of connections and of requests that wait. It has a thread of its
/// own. The destructor waits for that thread, which may be looking up a name; what is under way is told nothing then.
/// What is wrong with the options is what every request is answered with.
std::unique_ptr<transport> socket_transport(const client_options& options);

} // namespace v0
} // namespace belay
