#pragma once
// Snapshots on their way out and in (docs/contract/11): which actor is asked for what, and when. A download is a
// consistent read of everything, as of a checkpoint written for it. An upload becomes entries of the log, one after the
// other.

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <memory>
#include <string>

namespace belay::actors {

class archive_transfers {
public:
  /// @param out,pending outlive it
  archive_transfers(outbox& out, pending_requests& pending, answer_times times)
      : out_(out), pending_(pending), times_(times) {}

  /// @param leaderless it is known that there is no leader
  void begin_save(exchange& e, const http::snapshot_save& s, bool leaderless, monotonic_time now);
  /// The checkpoint for a download is written, or this server has caught up for an upload; or it cannot be.
  void read_answered(exchange& e, const read_result& r, monotonic_time now);
  /// Asks for the next piece of a download.
  void next_piece(exchange& e);
  void packed(archive_packed& p);

  /// One at a time: what an archive unpacks to is in memory. @param restore_id a fresh UUID
  void begin_restore(exchange& e, std::string restore_id, monotonic_time now);
  /// There is more of an upload's body.
  void body_arrived(exchange& e, monotonic_time now);
  void unpacked(const archive_unpacked& u, monotonic_time now);
  /// A command of an upload was decided, or nobody knows.
  void part_decided(exchange& e, write_result& r, monotonic_time now);

  /// Its client is gone, or will be told why it failed. What was gathered for a restore is dropped, unless it was put
  /// in force.
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
  std::weak_ptr<const void> restoring_; ///< expired: no restore is under way
};

} // namespace belay::actors
