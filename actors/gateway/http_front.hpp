#pragma once
// What the connections of one gateway share, and whom they ask: the view that a connection has of its gateway.

#include "actors/gateway/http_reader_pool.hpp"
#include "actors/gateway/requests/byte_budget.hpp"
#include "actors/gateway/requests/exchange.hpp"
#include "actors/gateway/socket_poller.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

class http_connection;

class http_front {
public:
  virtual ~http_front() = default;

  virtual socket_poller& sockets() = 0;
  virtual http_reader_pool& readers() = 0;
  virtual monotonic_time now() = 0;
  /// Of the wall clock, since 1970.
  virtual std::int64_t wall_ns() = 0;
  /// Value of the Date header.
  virtual std::string_view date() = 0;
  virtual const http::route_settings& routes() = 0;

  /// Fills in what is asked, and the answer if it is known. Does not send anything yet.
  virtual void understand(const http::raw_request& r, exchange& e) = 0;
  /// Passes it on. The answer is put into `e`, now or later; if later, progress() is called then.
  virtual void dispatch(exchange& e) = 0;
  /// The body of an upload goes on, in e.transfer.
  virtual void body_arrived(exchange& e) = 0;
  /// The client has room for more of a download. It is put into e.transfer; then progress() is called.
  virtual void next_piece(exchange& e) = 0;
  /// Its client has gone; `e` will be destroyed.
  virtual void forget(exchange& e) = 0;
  /// Its answer is on the way to the client.
  virtual void count(const exchange& e, int status) = 0;
  /// Last call of a connection; it may be destroyed when its own calls have returned.
  virtual void closed(http_connection& c) = 0;

  /// `held` is exceeded: somebody else, or the connection that calls, is closed or refused.
  virtual void shed() {}

  byte_budget held; ///< by all connections
  /// Used within one call only, by one connection at a time.
  std::string input;  ///< has the size of what is read at once
  std::string output; ///< empty between calls
};

} // namespace belay::actors
