#pragma once
// One connection of a client agent to the server port of a server. It does the handshake, sends the
// hello, and then carries HTTP requests, one at a time. A plain object on its loop's thread.

#include "actors/relay/relay_loop.hpp"
#include "actors/relay/request_relay.hpp"
#include "actors/tls/channel.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace belay::actors {

class server_connection : public std::enable_shared_from_this<server_connection> {
public:
  /// Callbacks for its owner. Called from the loop, never from within a call of this object.
  struct events {
    std::function<void(server_connection&)> ready; ///< it may carry a request now
    /// The connection is unusable. `why`: it never was ready, or its request got no answer
    std::function<void(server_connection&, const std::string& why)> closed;
  };

  /// @param server host:port, for logs
  server_connection(relay_loop& loop, std::string server, tls::credentials_ptr credentials, events then);
  ~server_connection();

  /// @param hello a frame of wire::hello
  void dial(const socket_endpoint& to, const std::string& hello);
  /// Closes it without a callback.
  void close();

  const std::string& server() const { return server_; }
  bool idle() const { return ready_ && listener_ == nullptr && !output_ends_; }
  bool output_ended() const { return output_ends_; }
  bool used_before() const { return carried_ > 1; }

  /// @pre idle(), can_be_written(r)
  void carry(const relayed_request& r, answer_listener& listener);
  void send_body(std::string_view bytes, bool last);
  std::size_t unsent() const { return out_.size() + in_flight_.size(); }
  void let_come(bool wanted);
  /// Only `last` follows the current request: its wait ends. No other request can be carried.
  void end_output(std::string_view last = {});
  /// Stops notifying the listener; what was written still reaches the server, which then
  /// closes the connection. @pre end_output() was called
  void leave();
  /// Stops notifying the listener, and closes the connection.
  void abandon();
  /// Fails like a broken connection. Its owner is notified within this call.
  void give_up(const std::string& why) { fail(why); }

private:
  using parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  void connected(const std::string& hello);
  void write_plaintext(std::string_view plaintext);
  void write_more();
  void read_more();
  void received(std::string_view wire);
  void parse(std::string_view plaintext);
  void deliver_head();
  void answer_complete(bool more_came);
  void fail(const std::string& why);

  std::unique_ptr<relay_socket> socket_;
  std::string server_;
  tls::credentials_ptr credentials_;
  events then_;
  std::optional<tls::channel> channel_; ///< none: without TLS
  std::string hello_;                   ///< until it may be sent
  std::string out_, in_flight_;         ///< bytes to send, and those passed to the socket
  std::string in_, plain_;
  std::string unread_; ///< bytes of an incomplete head
  bool ready_ = false, closed_ = false, reading_ = false, wanted_ = true;
  bool output_ends_ = false; ///< after out_

  answer_listener* listener_ = nullptr;
  std::optional<parser> parser_;
  bool head_sent_ = false;
  std::uint64_t carried_ = 0;
};

} // namespace belay::actors
