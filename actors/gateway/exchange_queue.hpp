#pragma once
// The exchanges of one connection, in the order of their requests: which may begin before others are answered, whose
// answer may be written, and which answer is the last. No sockets: what is written goes to the front's output.

#include "actors/gateway/connection_limits.hpp"
#include "actors/gateway/http_front.hpp"

#include <list>
#include <string>
#include <string_view>
#include <utility>

namespace belay::actors {

class exchange_queue {
public:
  /// @param owner is told of answers
  /// @param front,limits outlive it
  exchange_queue(requester& owner, http_front& front, const connection_limits& limits)
      : owner_(owner), front_(front), limits_(limits) {}

  bool empty() const { return list_.empty(); }
  /// The body of the last exchange is passed on as it comes.
  bool uploading() const { return uploading_; }
  /// Of an upload whose next step waits for bytes of the client.
  bool starved() const { return uploading_ && list_.back().transfer->starved; }
  /// Some may be without an answer for minutes.
  bool blocking() const;
  /// No further request is answered.
  bool ended() const { return ended_; }
  /// The last answer is written.
  bool closing() const { return closing_; }
  /// Held by what is not answered, or answered and not written; without bodies that are shared.
  std::size_t held_bytes() const;
  /// Of bodies that are shared, or being rendered, and not written: its share.
  std::size_t shared_bytes() const;
  /// A client that waits for `100 Continue` may send its body now.
  bool wants_body() const { return list_.empty() || (uploading_ && list_.size() == 1); }
  /// Another request, or more of the upload, may be taken.
  /// @param unsent bytes that the client has not taken
  bool may_begin(std::size_t unsent) const;

  /// A request was read, or (`body_follows`) the head of one whose body is passed on as it comes.
  /// @param passed_on_by null: by the client itself
  void begin(const http_reader& reader, std::string_view client_address, const http::client_agent* passed_on_by,
             bool body_follows);
  /// More of the body of the upload under way.
  void body_arrived(std::string_view bytes, bool complete);
  /// The rest of the upload under way, or of a request, cannot be read.
  void refuse(http_reader::verdict why, const http_reader& reader);
  /// The request that is being read gets this answer, and nothing behind it is read. @pre !uploading()
  void refuse(http::response answer);

  /// Moves answers from the front of the queue to the output, up to the next that has a shared body; starts a request that had to wait for that.
  /// @param unsent bytes that the client has not taken, without those in the output
  void write(std::size_t unsent);
  /// The body behind what write() has put into the output; null: none. If there was one, write() has not come to an end.
  http::shared_body_ptr take_body() { return std::exchange(body_, nullptr); }
  /// The client sends nothing more, but for requests that were sent and not read yet. It may be gone, or have closed only its side: what is in
  /// flight, and what is read from now on, is answered without waiting.
  void end_waits();
  /// The connection has come to its end, or its input has. Call it before end_waits() or drop().
  /// @param of_agent an agent is at the other end. Its own end is not that of its client, which it names by its last words
  /// @param unread bytes of the connection of which no request was made
  void note_end(bool of_agent, std::string_view unread);
  /// Answers what is past its deadline, and puts questions again that want it. @returns true: something was answered
  bool sweep(monotonic_time now);
  /// No further request is answered; those that are not worked on, or may take minutes, are answered with `text` and
  /// status 500.
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
  http_front& front_;
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
