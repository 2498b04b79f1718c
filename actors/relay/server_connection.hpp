#pragma once
// One connection of a client agent to the server port of a server: it shakes hands, introduces the agent, and then carries requests in
// HTTP, one at a time. A plain object on the thread of its loop.

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
  /// What its owner has to know of it. Called from within the loop, never from within a call of this object's own.
  struct events {
    std::function<void(server_connection&)> ready; ///< it may carry a request now
    /// It is of no use any more. `why`: of a connection that never was ready, or whose request got no answer
    std::function<void(server_connection&, const std::string& why)> closed;
  };

  /// @param server host:port, for logs
  server_connection(relay_loop& loop, std::string server, tls::credentials_ptr credentials, events then);
  ~server_connection();

  /// @param introduction a frame of wire::hello
  void dial(const socket_endpoint& to, const std::string& introduction);
  /// Nobody is told.
  void close();

  const std::string& server() const { return server_; }
  bool idle() const { return ready_ && listener_ == nullptr && !output_ends_; }
  bool output_ended() const { return output_ends_; }
  bool used_before() const { return carried_ > 1; }
  /// Of the request that it carries something has come back.
  bool answered() const { return head_told_; }

  /// @pre idle(), can_be_written(r)
  void carry(const relayed_request& r, answer_listener& listener);
  void send_body(std::string_view bytes, bool last);
  std::size_t unsent() const { return out_.size() + in_flight_.size(); }
  void let_come(bool wanted);
  /// The server is told that nothing follows the request under way but `last`, and ends its wait; the connection carries no other one.
  void end_output(std::string_view last = {});
  /// The listener of the request under way is told nothing any more; what was said still reaches the server, which ends the connection
  /// then. @pre end_output() was called
  void leave();
  /// The listener of the request under way is told nothing any more; the connection ends with that.
  void abandon();
  /// Ends it as a broken wire does. Its owner is told within this call.
  void give_up(const std::string& why) { fail(why); }

private:
  using parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  void connected(const std::string& introduction);
  void say(std::string_view plaintext);
  void write_more();
  void read_more();
  void heard(std::string_view wire);
  void parse(std::string_view plaintext);
  void tell_head();
  void answer_complete(bool more_came);
  void fail(const std::string& why);

  std::unique_ptr<relay_socket> socket_;
  std::string server_;
  tls::credentials_ptr credentials_;
  events then_;
  std::optional<tls::channel> channel_; ///< none: without TLS
  std::string introduction_;            ///< until it may be said
  std::string out_, in_flight_;         ///< bytes of the wire, and those that the socket is taking
  std::string in_, plain_;
  std::string unread_; ///< of a head that is not whole
  bool ready_ = false, closed_ = false, reading_ = false, wanted_ = true;
  bool output_ends_ = false; ///< behind out_

  answer_listener* listener_ = nullptr;
  std::optional<parser> parser_;
  bool head_told_ = false;
  std::uint64_t carried_ = 0;
};

} // namespace belay::actors
