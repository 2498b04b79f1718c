#pragma once
// Clients that follow the log of this server (GET /v1/agent/monitor). Each gets the lines written
// while it is connected, at its own pace, and a notice of dropped lines.

#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/telemetry/log.hpp"

#include <map>
#include <memory>

namespace belay::actors {

class log_streams {
public:
  // Each uses some hundred kilobytes, and every line is formatted for each of them.
  static constexpr std::size_t streams_max = 16;
  // Some thousand lines.
  static constexpr std::size_t lines_bytes_max = 256u << 10;

  /// @param pending must outlive this object
  explicit log_streams(pending_requests& pending) : pending_(pending) {}

  /// Answers `e`: with lines from now on, or with what is wrong with its request.
  void begin(exchange& e, const http::local_request& r);
  /// Whether `e` is such a stream.
  bool has(const exchange& e) const;
  /// The client can take more.
  void next_piece(exchange& e);
  /// The client is gone, or must not see more.
  void close(const exchange& e);
  /// The client must not see more: the stream ends after what is already being sent.
  void end(const exchange& e);
  /// The client may be gone: the stream ends with the lines that are there.
  void end_wait(const exchange& e);
  /// Passes on new lines, reported by pending_requests::progress(). Call it regularly.
  void tick();
  /// Ends all streams after the lines that they already have.
  void finish();

private:
  struct stream {
    std::unique_ptr<log::tap> lines; ///< null: no more lines come
    request_id waits;  ///< id of the exchange that waits for lines; zero: it has some that are not sent yet
    bool ends = false; ///< with the lines that are there
  };

  pending_requests& pending_;
  std::map<request_id, stream> streams_; ///< by exchange::transfer->archive
  bool finished_ = false;
};

} // namespace belay::actors
