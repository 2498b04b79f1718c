#pragma once
// The state of one snapshot that a client downloads or uploads (GET and PUT /v1/snapshot): which bytes are there, and
// what is being waited for. The connection moves the bytes, archive_transfers asks the other actors.

#include "actors/messages.hpp"
#include "protocol/http/piecewise_body.hpp"
#include "protocol/http/shared_body.hpp"

#include <memory>
#include <string>

namespace belay::actors {

struct snapshot_transfer {
  request_id archive; ///< by which the checkpointer knows it

  // Download: pieces are asked for one by one, as fast as the client takes them.
  bool streaming = false;      ///< the answer's head is known, its body comes in pieces
  bool head_written = false;   ///< the head is among the bytes for the client
  bool asked = false;          ///< for the next piece
  bool ended = false;          ///< `piece` is the last one
  bool failed = false;         ///< no more pieces come, though the archive is not complete
  std::string piece;           ///< arrived and not yet among the bytes for the client
  http::shared_body_ptr block; ///< the same, shared with others, and one chunk already; null: none

  // An answer to a read that is too large to be rendered as a whole.
  std::unique_ptr<http::piecewise_body> rows; ///< null: it is something else
  std::shared_ptr<const void> counted;        ///< takes them out of the byte budget with its end

  // Upload: some bytes go to the checkpointer, which makes one command of them; when the log has it, the next ones go.
  std::shared_ptr<const void> turn; ///< held as long as it is the one restore of this server
  std::string restore_id;           ///< that the commands of one restore have in common
  std::string body;                 ///< arrived and not passed on
  bool body_complete = false;
  bool starved = false;    ///< waits for bytes of the client
  bool begun = false;      ///< something of it may be in the log
  bool committing = false; ///< `command` is the one that puts everything in force
  payload command;         ///< proposed last
  std::string refused_for; ///< not empty: it is being taken out of the log, and then this is the answer
  std::optional<state::restore_begin> begins; ///< `command` is this one
  monotonic_time retry_until{};
};

} // namespace belay::actors
