#pragma once
// Numbers of connections. Each kind of client has its own range, so a response finds its client.

#include <bit>
#include <cstdint>

namespace belay::sim {

/// Chosen by the client that makes the connection; unique in a run.
using connection_id = std::uint64_t;

/// The owner of a connection. All others' numbers have the bit of this value as their highest bit.
enum class connections_of : std::uint8_t {
  clients =
      0, ///< that write, watch, lock or claim: the number is that of the operation; its bits are below those of others
  change_followers = 47,
  archive_transfers = 48,
  clients_of_agents = 49,
  operators = 50,
  cached_readers = 51,
  client_agents = 52,   ///< to the server ports
  library_clients = 53, ///< processes that use the client library
  restart_tour = 54,
};

/// The number that precedes the first of that owner. @pre who is not `clients`
constexpr connection_id counted_from(connections_of who) {
  return connection_id{1} << static_cast<int>(who);
}

constexpr connections_of owner_of(connection_id c) {
  return c < counted_from(connections_of::change_followers) ? connections_of::clients
                                                            : static_cast<connections_of>(std::bit_width(c) - 1);
}

} // namespace belay::sim
