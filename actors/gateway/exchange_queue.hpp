#pragma once
// The exchanges of a connection, in request order: which may begin before others are answered,
// whose answer may be written, and which is the last. No sockets: it writes to the host's output.

#include "actors/gateway/connection_host.hpp"
#include "actors/gateway/connection_limits.hpp"

#include <list>
#include <string>
#include <string_view>
#include <utility>

namespace belay::actors {

class exchange_queue {
public:
  /// @param owner notified of answers
  /// @param host,limits must outlive this object
  exchange_queue(requester& owner, connection_host& host, const connection_limits& limits)
      : owner_(owner), host_(host), limits_(limits) {}

  bool empty() const { return list_.empty(); }
  /// Whether the body of the last exchange is streamed as it arrives.
  bool uploading() const { return uploading_; }
  /// Whether an upload is in progress, and its next step waits for bytes of the client.
  bool starved() const { return uploading_ && list_.back().transfer->starved; }
  /// Whether requests may remain unanswered for minutes.
  bool blocking() const;
  /// Whether no further request is answered.
  bool ended() const { return ended_; }
  /// Whether the last answer is written.
  bool closing() const { return closing_; }
  /// Memory of exchanges that are not answered, or not written; without shared bodies.
  std::size_t held_bytes() const;
  /// This connection's share of bodies that are shared, or being rendered, and not written.
  std::size_t shared_bytes() const;
  /// Whether to notify a client that waits for `100 Continue` that it may send its body now.
  bool needs_body() const { return list_.empty() || (uploading_ && list_.size() == 1); }
  /// Whether another request, or more of the upload, may be taken.
  /// @param unsent bytes that the client has not taken
  bool may_begin(std::size_t unsent) const;

  /// A request was read, or (`body_follows`) the head of one whose body is streamed.
  /// @param passed_on_by client agent that forwarded it; null: none
  void begin(const http_reader& reader, std::string_view client_address, const http::client_agent* passed_on_by,
             bool body_follows);
  /// More of the body of the current upload.
  void body_arrived(std::string_view bytes, bool complete);
  /// The rest of the current upload, or of a request, cannot be read.
  void refuse(http_reader::outcome why, const http_reader& reader);
  /// The request being read gets this answer, and no later one is read. @pre !uploading()
  void refuse(http::response answer);

  /// Moves answers from the queue's front to the output, up to the next shared body; starts a
  /// request that waited for that.
  /// @param unsent bytes the client has not taken, except the output
  void write(std::size_t unsent);
  /// The body after the output of write(); null: none. If there is one, write() is not finished.
  http::shared_body_ptr take_body() { return std::exchange(body_, nullptr); }
  /// The client sends nothing after what is already received. It may be gone, or have closed only
  /// its side: what is in flight, and what is read from now on, is answered without waiting.
  void end_waits();
  /// The connection, or its input, has ended. Call it before end_waits() or drop().
  /// @param of_agent an agent is at the other end; it reports a client's disconnect in its last
  /// bytes
  /// @param unread bytes of the connection of which no request was made
  void note_end(bool of_agent, std::string_view unread);
  /// Answers exchanges past their deadlines, and retries those due. @returns true: any was answered
  bool sweep(monotonic_time now);
  /// Answers no further request. Requests that are not in progress, or may take minutes,
  /// are answered with `text` and status 500.
  void finish(const std::string& text);
  /// The client is gone.
  void drop();

private:
  exchange& add();
  std::size_t request_bytes() const;
  bool is_last(const exchange& e) const;
  void write_answer(exchange& e);
  bool write_piece(exchange& e, std::size_t unsent);
  void written(const exchange& e, bool last);

  requester& owner_;
  connection_host& host_;
  const connection_limits& limits_;
  std::list<exchange> list_;
  http::shared_body_ptr body_;
  bool uploading_ = false;
  bool input_ended_ = false;  ///< by the client
  bool disconnected_ = false; ///< exchange::disconnected
  bool ended_ = false;
  bool closing_ = false;
};

} // namespace belay::actors
