#pragma once
// The numbers of connections in a run. Each kind of client counts from a place of its own, so that an answer finds who has asked.

#include <bit>
#include <cstdint>

namespace belay::sim {

/// Chosen by whoever makes it, never twice in a run.
using connection_id = std::uint64_t;

/// Whose they are. Theirs are the numbers whose highest bit is that one.
enum class connections_of : std::uint8_t {
  clients =
      0, ///< that write, watch, lock, claim: the number is that of their operation, and has any of the bits below the others'
  change_followers = 47,
  archive_transfers = 48,
  clients_of_agents = 49,
  operators = 50,
  cached_readers = 51,
  client_agents = 52,   ///< to the server ports
  library_clients = 53, ///< processes that are written with the client library
  restart_tour = 54,
};

/// The place from which they are counted. @pre who is not `clients`
constexpr connection_id counted_from(connections_of who) {
  return connection_id{1} << static_cast<int>(who);
}

constexpr connections_of owner_of(connection_id c) {
  return c < counted_from(connections_of::change_followers) ? connections_of::clients
                                                            : static_cast<connections_of>(std::bit_width(c) - 1);
}

} // namespace belay::sim
