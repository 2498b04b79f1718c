#pragma once
// The messages that parts of a gateway send to other actors. The gateway sends them;
// a test inspects them. The type of a message determines the receiver.

#include "actors/messages.hpp"

namespace belay::actors {

class outbox {
public:
  virtual ~outbox() = default;

  /// Sent to raft_peer.
  virtual void post(propose_write m) = 0;
  virtual void post(status_request m) = 0;
  /// Sent to the fsm.
  virtual void post(check_write m) = 0;
  virtual void post(read_query m) = 0;
  virtual void post(cancel_query m) = 0;
  /// Sent to the checkpointer.
  virtual void post(pack_archive m) = 0;
  virtual void post(unpack_archive m) = 0;
  virtual void post(close_archive m) = 0;
  /// Sent to the first gateway of this server.
  virtual void post(wait_changed m) = 0;
  /// Sent to the audit_log.
  virtual void post(write_audit m) = 0;
};

} // namespace belay::actors
