#pragma once
// Downloads and uploads of snapshots (docs/contract/11): which actor receives which request, and
// when. A download is a consistent read of everything, as of a checkpoint written for it. An upload
// becomes a sequence of log entries.

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <memory>
#include <string>

namespace belay::actors {

class archive_transfers {
public:
  /// @param out,pending must outlive this object
  archive_transfers(outbox& out, pending_requests& pending, answer_times times)
      : out_(out), pending_(pending), times_(times) {}

  /// @param leaderless it is known that there is no leader
  void begin_save(exchange& e, const http::snapshot_save& s, bool leaderless, monotonic_time now);
  /// The checkpoint for a download is written, or this server has caught up for an upload; or not.
  void read_answered(exchange& e, const read_result& r, monotonic_time now);
  /// Requests the next piece of a download.
  void next_piece(exchange& e);
  void packed(archive_packed& p);

  /// One at a time, because the unpacked archive is in memory.
  /// @param restore_id a fresh UUID
  void begin_restore(exchange& e, std::string restore_id, monotonic_time now);
  /// More of an upload's body has arrived.
  void body_arrived(exchange& e, monotonic_time now);
  void unpacked(const archive_unpacked& u, monotonic_time now);
  /// A command of an upload was decided, or its outcome is unknown.
  void part_decided(exchange& e, write_result& r, monotonic_time now);

  /// The client is gone, or the upload failed. Rows staged for a restore are dropped,
  /// unless they were put in force.
  void abandon(exchange& e);

private:
  void unpack_more(exchange& e, monotonic_time now);
  void propose_part(exchange& e, monotonic_time now);
  void propose_abort(const snapshot_transfer& t, request_id id);
  void abort_restore(exchange& e, std::string text, monotonic_time now);
  void end_restore(exchange& e, std::string text);

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  std::weak_ptr<const void> restoring_; ///< expired: no restore is in progress
};

} // namespace belay::actors
