#pragma once
// One client's connection: reads bytes from its socket, lets the reader make requests of them, and writes what the queue
// of exchanges has for the client. A plain object on the gateway's thread.

#include "actors/gateway/connection_limits.hpp"
#include "actors/gateway/exchange_queue.hpp"
#include "actors/gateway/http_front.hpp"
#include "actors/gateway/transport/handshake_desk.hpp"
#include "actors/gateway/transport/tls_stream.hpp"
#include "actors/gateway/transport/unsent_output.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class http_connection : public socket_owner, public requester, public handshake_desk::visitor {
public:
  /// @param fd non-blocking, owned from now on
  /// @param tls null: it speaks plain HTTP
  /// @param passes_on a client agent, whose clients' requests these are; null: a client is at the other end
  http_connection(http_front& front, const connection_limits& limits, int fd, const std::string* address,
                  std::unique_ptr<tls_stream> tls = nullptr,
                  std::unique_ptr<const http::client_agent> passes_on = nullptr);
  ~http_connection() override;

  bool open() const { return fd_ >= 0; }
  void start();
  /// What came before this object was there.
  void start(std::string_view said);
  /// Writes the answers whose turn it is, goes on with further requests.
  void progress() override;
  bool send_now(const http::shared_body_ptr& piece) override;
  /// Answers what is in flight, then closes. Blocking queries are answered with `text` and status 500.
  void finish(const std::string& text);
  /// Without another word.
  void close();
  /// Closes what has stalled, answers exchanges whose deadline has passed, and asks again for those that want it.
  void sweep(monotonic_time now);
  /// What this client makes us keep: bytes. As of the last event of the connection. Of what it shares with others, its share.
  std::size_t held_bytes() const;
  /// Gives that back: an unfinished request is refused with 503, everything else ends with the connection.
  void shed();
  /// Nothing is in flight and everything is sent.
  bool idle() const { return queue_.empty() && to_send() == 0; }

  /// Between two requests of a client since then, or before the first one. nullopt: it is not, or a client agent is at the other end.
  std::optional<monotonic_time> idle_since() const;

  /// IP address of the client; empty: a Unix socket.
  const std::string& address() const { return *address_; }

  std::size_t place = 0; ///< in client_connections, which alone uses it

private:
  void on_ready(bool readable, bool writable) override;
  void on_hang_up(bool broken) override;
  void on_turn_again() override;
  void on_turn() override;
  bool may_read() const;
  void wait_readable();
  /// @returns false: no memory in the kernel, the connection was closed
  bool wait_for(socket_poller::interest i);
  void read_some();
  void take(std::string_view bytes);
  bool may_look_at_next() const { return queue_.may_begin(unsent()); }
  std::size_t look_at_next(std::string_view input, bool& more_needed);
  void go_on_later();
  void write_in_order();
  bool flush();
  void end_of_input();
  void note_end();
  void end_waits();
  void begin_linger();
  void shut();
  void request_moved(bool head_ended, std::size_t bytes);
  void account();
  bool waits_for_request() const;
  std::size_t to_send() const { return unsent_.size() + (tls_ != nullptr ? tls_->unsent() : 0); }
  std::size_t unsent() const { return to_send() + front_->output.size(); }

  // HTTPS: http_connection_tls.cpp
  bool shaking_hands() const { return tls_ != nullptr && !lingering_ && !tls_->established(); }
  bool may_shake_hands();
  void take_sealed(std::string_view wire);
  void refuse_tls(const std::string& why);
  unsent_output::outcome send_some(std::size_t& moved);
  bool say_goodbye();
  void hang_up_politely();

  http_front* front_;
  const connection_limits& limits_;
  int fd_;
  socket_poller::interest waits_for_;
  const std::string* address_;
  std::unique_ptr<const http::client_agent> passes_on_;
  std::unique_ptr<http_reader> reader_; ///< only while a request is being read
  exchange_queue queue_;
  std::string waiting_; ///< input not looked at yet
  unsent_output unsent_;
  std::unique_ptr<tls_stream> tls_; ///< null: plain HTTP
  monotonic_time last_input_, last_output_, linger_until_{};
  client_pace request_pace_, answer_pace_;
  std::size_t held_ = 0;     ///< as the front knows it
  bool busy_ = false;        ///< inside progress()
  bool again_ = false;       ///< what waits is looked at when the other connections have had their turn
  bool input_ended_ = false; ///< all of it was read
  bool hung_up_ = false;     ///< some of it may not have been read, and nothing comes behind it
  bool lingering_ = false;
};

} // namespace belay::actors
