#pragma once
// How much one client may make a gateway keep for it, and for how long.

#include "actors/gateway/client_pace.hpp"

#include <chrono>
#include <cstddef>

namespace belay::actors {

struct connection_limits {
  /// Requests of one connection without an answer, and their bytes: one request is looked at in any case. A client that sends without waiting
  /// for answers has so much in front of the requests of all others (docs/adr/0022).
  std::size_t in_flight_max = 16;
  std::size_t in_flight_bytes_max = 1 << 18;
  std::size_t unsent_bytes_max = 1 << 20;  ///< above that, no further request is looked at
  std::size_t waiting_bytes_max = 1 << 16; ///< input kept while none is looked at; beyond that the socket is not read
  std::chrono::seconds stall{60};          ///< half a request, or an answer, without a byte of progress
  pace_limits pace;                        ///< with progress, but too little
  pace_limits uploads = upload_pace;       ///< the same, while an archive comes
  std::chrono::milliseconds linger{2000};  ///< after the last answer, until the client closes too
  /// Of HTTPS: from the connection to the end of the handshake, without the time it waits for us.
  std::chrono::milliseconds handshake{5000};
  /// Of the time of the thread that handshakes may take from requests.
  double handshake_share = 0.25;
};

} // namespace belay::actors
