#pragma once
// Resolves host names. A name server may take many seconds or never answer. So each name is looked
// up on a thread of its own, and no lookup waits for another.

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
  /// @returns all addresses, the preferred one first; empty: no such host, or no server knew it
  using lookup = std::function<addresses(const std::string& host)>;
  using answered = std::function<void(const addresses&)>;

  /// @param look_up may block as long as it needs; called on threads that outlive this object
  /// @param names_max names kept, each with at most one thread; a name unused for a minute
  /// makes room
  /// @param threads_max further names wait for one of these threads
  explicit name_lookups(lookup look_up = system_lookup(), std::size_t names_max = 64, std::size_t threads_max = 64);
  /// No callback runs after this.
  ~name_lookups();
  name_lookups(const name_lookups&) = delete;
  name_lookups& operator=(const name_lookups&) = delete;

  /// A numeric address, or the last result for a name, which is refreshed if it is old.
  /// @returns nullopt: not known, or not yet
  std::optional<socket_endpoint> find(const std::string& host, std::uint16_t port);
  /// Connections to the result of find() fail: the next result is another address of the name.
  void failed(const std::string& host);

  /// Looks up a name, unless that happened in the last two seconds. Calls `then` once, perhaps on
  /// another thread or before this returns, if it is still owned then. It must return soon, without
  /// calling this object. It is not called if no name server answers, and called with an empty list
  /// if there is no such host or there are too many names.
  void ask(const std::string& host, const std::shared_ptr<answered>& then);

  /// getaddrinfo().
  static lookup system_lookup();

private:
  struct state;
  std::shared_ptr<state> state_;
};

} // namespace belay::actors
