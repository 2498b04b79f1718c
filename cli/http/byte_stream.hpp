#pragma once
// A connection to a server, whatever it goes over: TCP or a Unix socket, with TLS or without.

#include "cli/http/api_address.hpp"
#include "cli/http/api_tls.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>

#include <chrono>
#include <memory>

namespace belay::cli {

class byte_stream {
public:
  virtual ~byte_stream() = default;

  /// Everything after this has to be done within `limit`, or fails with a time-out. Zero: no limit.
  virtual void expires_after(std::chrono::milliseconds limit) = 0;
  virtual boost::asio::awaitable<std::size_t> read_some(boost::asio::mutable_buffer into,
                                                        boost::system::error_code& ec) = 0;
  virtual boost::asio::awaitable<void> write(boost::asio::const_buffer all, boost::system::error_code& ec) = 0;
  /// Ends what is under way.
  virtual void close() = 0;
};

/// Connected, and the server checked. @param tls null: without TLS
/// @param limit for all of it; zero: none
boost::asio::awaitable<result<std::unique_ptr<byte_stream>>> open_stream(boost::asio::any_io_executor executor,
                                                                         const api_address& where,
                                                                         std::shared_ptr<api_tls> tls,
                                                                         std::chrono::milliseconds limit);

} // namespace belay::cli
