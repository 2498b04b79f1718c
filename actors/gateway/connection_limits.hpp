#pragma once
// Limits what a gateway keeps for one client, and for how long.

#include "actors/gateway/client_pace.hpp"

#include <chrono>
#include <cstddef>

namespace belay::actors {

struct connection_limits {
  /// Requests of one connection without an answer, and their bytes (one request is always allowed).
  /// A client that pipelines gets this much ahead of requests of others (docs/internals/adr/0007).
  std::size_t in_flight_max = 16;
  std::size_t in_flight_bytes_max = 1 << 18;
  std::size_t unsent_bytes_max = 1 << 20;  ///< above this no further request is parsed
  std::size_t waiting_bytes_max = 1 << 16; ///< input kept while none is parsed; beyond it the socket is not read
  std::chrono::seconds stall{60};          ///< half a request, or an answer, without a byte of progress
  pace_limits pace;                        ///< limits for slow progress
  pace_limits uploads = upload_pace;       ///< the same, during the upload of an archive
  std::chrono::milliseconds linger{2000};  ///< after the last answer, until the client closes, too
  /// Time limit of a TLS handshake, from accept to its end, without the time that it waits for this
  /// server.
  std::chrono::milliseconds handshake{5000};
  /// Share of the thread's time that handshakes may take.
  double handshake_share = 0.25;
};

} // namespace belay::actors
