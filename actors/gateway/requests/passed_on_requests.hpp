#pragma once
// Requests of a client agent's clients that servers answer: what is sent to the server, and how the
// answer is returned. Small responses are written whole; large ones, and those without a length, in
// pieces.

#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/relay/request_relay.hpp"

#include <map>
#include <memory>
#include <string>

namespace belay::actors {

struct passed_on_limits {
  std::size_t whole_bytes_max = 256u << 10; ///< answers up to this size are written at once
  std::size_t ahead_bytes_max = 512u << 10; ///< bytes of a larger one that are read ahead of the client
};

class passed_on_requests {
public:
  /// @param pending must outlive this object.
  /// @param relay null: this node is a server
  passed_on_requests(request_relay* relay, pending_requests& pending, answer_times times, passed_on_limits limits = {});
  ~passed_on_requests();

  bool in_use() const { return relay_ != nullptr; }

  void begin(exchange& e, monotonic_time now);
  /// More of the body of an upload has arrived.
  void body_arrived(exchange& e);
  /// The client may be gone: lets the server answer without waiting.
  void end_wait(exchange& e, monotonic_time now);
  /// The client can take more of an answer that comes in pieces.
  void next_piece(exchange& e);
  /// The client is gone.
  void forget(const exchange& e);

private:
  class passage;

  void ended(const passage& p);

  request_relay* relay_;
  pending_requests& pending_;
  answer_times times_;
  passed_on_limits limits_;
  std::map<const exchange*, std::unique_ptr<passage>> passages_;
};

} // namespace belay::actors
