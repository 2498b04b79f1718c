#pragma once
// A snapshot that a client downloads or uploads (GET and PUT /v1/snapshot): bytes received, and
// what it waits for. The connection moves the bytes, archive_transfers asks the other actors.

#include "actors/messages.hpp"
#include "protocol/http/piecewise_body.hpp"
#include "protocol/http/shared_body.hpp"

#include <memory>
#include <string>

namespace belay::actors {

struct snapshot_transfer {
  request_id archive; ///< its id at the checkpointer

  // Download: pieces are requested one by one, as fast as the client takes them.
  bool streaming = false;      ///< the answer's head is known, its body comes in pieces
  bool head_written = false;   ///< the head is among the bytes for the client
  bool requested = false;      ///< the next piece was requested
  bool ended = false;          ///< `piece` is the last one
  bool failed = false;         ///< no more pieces come, though the archive is incomplete
  std::string piece;           ///< received and not yet among the bytes for the client
  http::shared_body_ptr block; ///< the same, shared with others, already framed as a chunk; null: none

  // An answer to a read that is too large to be rendered at once.
  std::unique_ptr<http::piecewise_body> rows; ///< null: the answer is something else
  std::shared_ptr<const void> counted;        ///< removes their bytes from the budget when destroyed

  // Upload: bytes become a command at the checkpointer; when it is in the log, the next ones follow
  std::shared_ptr<const void> ticket; ///< held while it is the one restore of this server
  std::string restore_id;             ///< common to all commands of one restore
  std::string body;                   ///< received and not passed on
  bool body_complete = false;
  bool starved = false;                       ///< waits for bytes of the client
  bool begun = false;                         ///< some of it may be in the log
  bool committing = false;                    ///< `command` is the one that puts everything in force
  payload command;                            ///< proposed last
  std::string refused_for;                    ///< not empty: the restore is being aborted, and then this is the answer
  std::optional<state::restore_begin> begins; ///< set if `command` is this one
  monotonic_time retry_until{};
};

} // namespace belay::actors
