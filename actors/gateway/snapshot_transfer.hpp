#pragma once
// What a connection and its gateway share about a snapshot that is being downloaded or uploaded.

#include "actors/messages.hpp"

#include <string>

namespace belay::actors {

struct snapshot_transfer {
  request_id archive; ///< by which the checkpointer knows it

  // download: pieces are asked for one by one, as fast as the client takes them
  bool streaming = false; ///< the answer's head is known, its body comes in pieces
  bool head_written = false;
  bool asked = false; ///< for the next piece
  bool ended = false; ///< `piece` is the last one
  bool failed = false;
  std::string piece;

  // upload: bytes -> checkpointer -> one command -> log -> more bytes
  std::string restore_id;
  std::string body; ///< arrived and not passed on
  bool body_complete = false;
  bool starved = false; ///< waits for bytes
  bool begun = false;   ///< something of it may be in the log
  bool committing = false;
  payload command; ///< in the log's hands
  monotonic_time retry_until{};
};

} // namespace belay::actors
