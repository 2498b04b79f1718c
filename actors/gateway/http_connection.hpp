#pragma once
// One client's connection: reads bytes from its socket, has the reader parse requests, and writes
// the answers in the queue of exchanges. A plain object on the gateway's thread.

#include "actors/gateway/connection_host.hpp"
#include "actors/gateway/connection_limits.hpp"
#include "actors/gateway/exchange_queue.hpp"
#include "actors/gateway/transport/handshake_limiter.hpp"
#include "actors/gateway/transport/tls_stream.hpp"
#include "actors/gateway/transport/unsent_output.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class http_connection : public socket_owner, public requester, public handshake_limiter::waiter {
public:
  /// @param fd non-blocking, owned from now on
  /// @param tls null: plain HTTP
  /// @param passes_on the client agent that forwards its clients' requests here; null: a client is
  /// at the other end
  http_connection(connection_host& host, const connection_limits& limits, int fd, const std::string* address,
                  std::unique_ptr<tls_stream> tls = nullptr,
                  std::unique_ptr<const http::client_agent> passes_on = nullptr);
  ~http_connection() override;

  bool open() const { return fd_ >= 0; }
  void start();
  /// @param after_hello bytes received before this object was created
  void start(std::string_view after_hello);
  /// Writes the answers that are next, continues with further requests.
  void progress() override;
  bool send_now(const http::shared_body_ptr& piece) override;
  /// Answers what is in flight, then closes. Blocking queries get `text` and status 500.
  void finish(const std::string& text);
  /// Closes at once, without an answer.
  void close();
  /// Closes if stalled, answers exchanges past their deadlines, and retries those that are due.
  void sweep(monotonic_time now);
  /// Bytes buffered for this client, as of its last event, with its share of shared bodies.
  std::size_t held_bytes() const;
  /// Frees those bytes: rejects an unfinished request with 503, or closes the connection.
  void shed();
  /// Whether nothing is in flight and everything is sent.
  bool idle() const { return queue_.empty() && to_send() == 0; }

  /// Since when the client sends no request. nullopt: one is in progress, or it is a client agent.
  std::optional<monotonic_time> idle_since() const;

  /// IP address of the client; empty: a Unix socket.
  const std::string& address() const { return *address_; }

  std::size_t slot = 0; ///< index in client_connections, used only there

private:
  void on_ready(bool readable, bool writable) override;
  void on_hang_up(bool broken) override;
  void on_resumed() override;
  void on_time_granted() override;
  bool may_read() const;
  void wait_readable();
  /// @returns false: out of kernel memory, the connection was closed
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
  std::size_t unsent() const { return to_send() + host_->output.size(); }

  // HTTPS: http_connection_tls.cpp
  bool shaking_hands() const { return tls_ != nullptr && !lingering_ && !tls_->established(); }
  bool may_shake_hands();
  void take_sealed(std::string_view wire);
  void refuse_tls(const std::string& why);
  unsent_output::outcome send_some(std::size_t& moved);
  bool send_close_notify();
  void hang_up_politely();

  connection_host* host_;
  const connection_limits& limits_;
  int fd_;
  socket_poller::interest waits_for_;
  const std::string* address_;
  std::unique_ptr<const http::client_agent> passes_on_;
  std::unique_ptr<http_reader> reader_; ///< only while a request is being read
  exchange_queue queue_;
  std::string waiting_; ///< input not parsed yet
  unsent_output unsent_;
  std::unique_ptr<tls_stream> tls_; ///< null: plain HTTP
  monotonic_time last_input_, last_output_, linger_until_{};
  client_pace request_pace_, answer_pace_;
  std::size_t held_ = 0;     ///< as reported to the host
  bool busy_ = false;        ///< inside progress()
  bool again_ = false;       ///< waiting input is parsed after the other connections had their turn
  bool input_ended_ = false; ///< all of it was read
  bool hung_up_ = false;     ///< no more input arrives, but some may not have been read
  bool lingering_ = false;
};

} // namespace belay::actors
