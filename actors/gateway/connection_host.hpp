#pragma once
// The interface between connections and their gateway: what connections share, and what they call.

#include "actors/gateway/http_reader_pool.hpp"
#include "actors/gateway/requests/byte_budget.hpp"
#include "actors/gateway/requests/exchange.hpp"
#include "actors/gateway/socket_poller.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

class http_connection;

class connection_host {
public:
  virtual ~connection_host() = default;

  virtual socket_poller& sockets() = 0;
  virtual http_reader_pool& readers() = 0;
  virtual monotonic_time now() = 0;
  /// Time of the wall clock, since 1970.
  virtual std::int64_t wall_ns() = 0;
  /// Value of the Date header.
  virtual std::string_view date() = 0;
  virtual const http::route_settings& routes() = 0;

  /// Fills in the parsed request, and the answer if it is known. Sends nothing yet.
  virtual void understand(const http::raw_request& r, exchange& e) = 0;
  /// Sends it on. The answer is put into `e`, now or later; if later, progress() is called then.
  virtual void dispatch(exchange& e) = 0;
  /// More of the body of an upload is in e.transfer.
  virtual void body_arrived(exchange& e) = 0;
  /// The client can take more of a download. It is put into e.transfer; then progress() is called.
  virtual void next_piece(exchange& e) = 0;
  /// The client of `e`, which was dispatched and not fully answered, sends no more and may be gone
  /// (`e.input_ended` is set). It is answered with what is known; progress() is called as usual.
  virtual void end_wait(exchange& e) = 0;
  /// The client of `e` has disconnected; `e` will be destroyed.
  virtual void forget(exchange& e) = 0;
  /// The exchange will be destroyed, and its answer, if any, was not sent.
  virtual void dropped(exchange&) {}
  /// The answer of an exchange is next. @returns false: wait until progress() is called
  virtual bool may_answer(exchange&) { return true; }
  /// The answer of `e` is being sent to the client.
  virtual void count(const exchange& e, int status) = 0;
  /// Last call of a connection; it may be destroyed when its own calls have returned.
  virtual void closed(http_connection& c) = 0;

  /// `held` is exceeded: another connection, or the calling one, is closed or rejected.
  virtual void shed() {}

  byte_budget held; ///< by all connections
  /// Scratch buffers, used within one call by one connection at a time.
  std::string input;  ///< its size is the read size
  std::string output; ///< empty between calls
  std::string sealed; ///< buffer for encrypted bytes; empty between calls
};

} // namespace belay::actors
