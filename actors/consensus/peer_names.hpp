#pragma once
// Addresses behind the names of peers. A name server may take many seconds or never answer: names are looked up on threads of
// their own, one for each name, and the last answer is used meanwhile.

#include "actors/consensus/peer_sockets.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace belay::actors {

class peer_names {
public:
  using lookup = std::function<std::optional<socket_endpoint>(const std::string& host)>;

  /// @param look_up waits as long as it likes; called on threads that outlive this object.
  explicit peer_names(lookup look_up = system_lookup());

  /// An address at once; for a name the last answer, which is asked for anew if it is old. There is room for 64 names: they come from
  /// the configuration of this server or its cluster.
  /// @returns nullopt: not known, or not yet
  std::optional<socket_endpoint> find(const std::string& host, std::uint16_t port);

  /// getaddrinfo().
  static lookup system_lookup();

private:
  struct answers;
  lookup look_up_;
  std::shared_ptr<answers> answers_;
};

} // namespace belay::actors
