#pragma once
// One client's connection: reads requests, keeps their answers in the order of the requests, and writes them. A plain
// object on the gateway's thread.

#include "actors/gateway/http_front.hpp"
#include "actors/gateway/unsent_output.hpp"

#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace belay::actors {

struct connection_limits {
  std::size_t in_flight_max = 64;          ///< requests of one connection without an answer
  std::size_t unsent_bytes_max = 1 << 20;  ///< above that, no further request is looked at
  std::size_t waiting_bytes_max = 1 << 16; ///< input kept while none is looked at; beyond that the socket is not read
  std::chrono::seconds stall{60};          ///< half a request, or an answer, without a byte of progress
  std::chrono::milliseconds linger{2000};  ///< after the last answer, until the client closes too
};

class http_connection : public socket_owner, public requester {
public:
  /// @param fd non-blocking, owned from now on
  http_connection(http_front& front, const connection_limits& limits, int fd, const std::string* address);
  ~http_connection() override;

  bool open() const { return fd_ >= 0; }
  void start();
  /// Writes the answers whose turn it is, goes on with further requests.
  void progress() override;
  /// Answers what is in flight, then closes. Blocking queries are answered with `text` and status 500.
  void finish(const std::string& text);
  /// Without another word.
  void close();
  /// Closes what has stalled, answers exchanges whose deadline has passed, and asks again for those that want it.
  void sweep(monotonic_time now);
  /// Nothing is in flight and everything is sent.
  bool idle() const { return exchanges_.empty() && unsent_.empty(); }

  /// IP address of the client; empty: a Unix socket.
  const std::string& address() const { return *address_; }

  std::size_t place = 0; ///< in client_connections, which alone uses it

private:
  void on_ready(bool readable, bool writable) override;
  bool may_read() const;
  void wait_readable();
  /// @returns false: no memory in the kernel, the connection was closed
  bool wait_for(socket_poller::interest i);
  void read_some();
  void take(std::string_view bytes);
  bool may_look_at_next() const;
  std::size_t look_at_next(std::string_view input, bool& more_needed);
  exchange& new_exchange();
  void begin_exchange(bool body_follows);
  void hand_over(bool complete);
  void break_upload();
  void refuse(http_reader::verdict why);
  void write_in_order();
  bool is_last(const exchange& e) const;
  void write_answer(exchange& e);
  bool write_piece(exchange& e);
  void written(const exchange& e, bool last);
  bool flush();
  void end_of_input();
  void begin_linger();
  void drop_exchanges();
  void shut();
  std::size_t unsent() const { return unsent_.size() + front_->output.size(); }

  http_front* front_;
  const connection_limits& limits_;
  int fd_;
  socket_poller::interest waits_for_;
  const std::string* address_;
  std::unique_ptr<http_reader> reader_; ///< only while a request is being read
  std::list<exchange> exchanges_;
  std::string waiting_; ///< input not looked at yet
  unsent_output unsent_;
  monotonic_time last_input_, last_output_, linger_until_{};
  bool busy_ = false; ///< inside progress()
  bool input_ended_ = false;
  bool last_answer_ = false; ///< the last request that is answered has been read
  bool closing_ = false;     ///< its answer is in the output: close when it is sent
  bool lingering_ = false;
  bool uploading_ = false; ///< the body of the last exchange is passed on as it comes
};

} // namespace belay::actors
