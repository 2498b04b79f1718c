#pragma once
// Clients that read the log of this server along (GET /v1/agent/monitor): each gets the lines that come while it is connected, as fast as it
// takes them, and is told of those that were lost meanwhile.

#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/telemetry/log.hpp"

#include <map>
#include <memory>

namespace belay::actors {

class log_streams {
public:
  // Each holds some hundred kilobytes, and every line is formatted for each of them.
  static constexpr std::size_t streams_max = 16;
  // Some thousand lines.
  static constexpr std::size_t lines_bytes_max = 256u << 10;

  /// @param pending outlives it
  explicit log_streams(pending_requests& pending) : pending_(pending) {}

  /// Answers `e`: with lines from now on, or with what is wrong with its request.
  void begin(exchange& e, const http::local_request& r);
  /// `e` is such a one.
  bool has(const exchange& e) const;
  /// The client has room for more.
  void next_piece(exchange& e);
  /// The client is gone, or must not see more.
  void close(const exchange& e);
  /// Whoever takes it must not see more: it ends behind what is on its way.
  void end(const exchange& e);
  /// The client may be gone: it ends with the lines that are there.
  void end_wait(const exchange& e);
  /// Lines that have come go on their way, to be told by pending_requests::progress(). Now and then.
  void tick();
  /// All of them come to an end, with what is there.
  void finish();

private:
  struct stream {
    std::unique_ptr<log::tap> lines; ///< null: nothing more comes
    request_id waits;  ///< under which the exchange waits for lines; zero: it has some that are not sent yet
    bool ends = false; ///< with the lines that are there
  };

  pending_requests& pending_;
  std::map<request_id, stream> streams_; ///< by exchange::transfer->archive
  bool finished_ = false;
};

} // namespace belay::actors
