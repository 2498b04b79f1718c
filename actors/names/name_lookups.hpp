#pragma once
// Addresses behind the names of hosts. A name server may take many seconds or never answer: names are looked up on threads of their own,
// one for each name, and nobody waits for another one's name.

#include "actors/names/socket_endpoint.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::actors {

class name_lookups {
public:
  using addresses = std::vector<socket_endpoint>;
  /// @returns all there are, the preferred one first; empty: no such host, or nobody who knew
  using lookup = std::function<addresses(const std::string& host)>;
  using answered = std::function<void(const addresses&)>;

  /// @param look_up waits as long as it likes; called on threads that outlive this object.
  /// @param names_max are remembered, each with a waiting thread at most; who was not wanted for a minute makes room
  /// @param threads_max beyond that, names wait for one of them
  explicit name_lookups(lookup look_up = system_lookup(), std::size_t names_max = 64, std::size_t threads_max = 64);
  /// Nobody is called any more.
  ~name_lookups();
  name_lookups(const name_lookups&) = delete;
  name_lookups& operator=(const name_lookups&) = delete;

  /// An address at once; for a name the last answer, which is asked for anew if it is old.
  /// @returns nullopt: not known, or not yet
  std::optional<socket_endpoint> find(const std::string& host, std::uint16_t port);

  /// Asks for a name, unless somebody did in these two seconds. `then` is called once, maybe on another thread, maybe before this
  /// returns, if it is still held by then. It returns at once and calls nothing here. No answer, no call; an empty one: no such host, or
  /// no room for one more name.
  void ask(const std::string& host, const std::shared_ptr<answered>& then);

  /// getaddrinfo().
  static lookup system_lookup();

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace belay::actors
