#pragma once
// One client's connection: reads requests, keeps their answers in order, writes them. A plain object on the gateway's
// thread.

#include "actors/gateway/http_listener.hpp"
#include "actors/gateway/http_reader.hpp"
#include "actors/gateway/snapshot_transfer.hpp"
#include "actors/gateway/socket_poller.hpp"
#include "actors/messages.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace belay::actors {

/// A request whose answer has not been written yet.
struct exchange {
  /// What it asks for; monostate: the answer was known at once.
  using asked = std::variant<std::monostate, http::read_request, state::command, http::session_renew,
                             http::snapshot_save, http::snapshot_restore, http::local_request, http::agent_request>;

  request_id id;
  asked what;
  http::render_options options;
  std::string_view route; ///< static text
  std::string shown;      ///< method and target for the log, without tokens; only while requests are logged
  monotonic_time began;
  monotonic_time deadline;                                         ///< nobody answered until then: 500 with this text
  std::string_view give_up = "rpc error making call: i/o timeout"; ///< Consul's when a leader is silent; static text
  std::optional<http::response> answer;
  bool head = false; ///< the answer has no body
  bool keep_alive = true;
  bool old_version = false;
  bool sent = false;                           ///< somebody is working on it (or it is answered)
  std::unique_ptr<snapshot_transfer> transfer; ///< of a snapshot request
  std::uint64_t last_contact_ms = 0;           ///< of a snapshot's read
  bool known_leader = true;
  monotonic_time wait_until{}; ///< an acquire that is refused for a lock-delay is tried again until then
  bool in_delay = false;       ///< and waits now
  bool ask_again = false;      ///< local requests without a leader: repeated until `deadline`

  /// A write of one key that nothing but the log decides (no lock, no transaction).
  bool plain_write() const {
    const auto* command = std::get_if<state::command>(&what);
    const auto* write = command != nullptr ? std::get_if<state::kv_write>(command) : nullptr;
    return write != nullptr && write->op.verb != state::kv_verb::lock && write->op.verb != state::kv_verb::unlock;
  }
  /// Plain writes of one connection may be decided together, in their order; everything else waits for what came before
  /// it and holds up what comes behind it, as with a server that reads one request at a time.
  bool may_overlap() const { return std::holds_alternative<std::monostate>(what) || plain_write(); }
  /// May be without an answer for minutes.
  bool blocking() const {
    if (const auto* a = std::get_if<http::agent_request>(&what)) {
      const auto* events = std::get_if<agent::list_events>(&a->what);
      const auto* service = std::get_if<agent::read_service>(&a->what);
      return (events != nullptr && events->index > 0) || (service != nullptr && !service->hash.empty());
    }
    const auto* r = std::get_if<http::read_request>(&what);
    return (r != nullptr && r->min_index > 0) || in_delay;
  }
};

class http_connection;

/// What connections share, and whom they ask.
class http_front {
public:
  virtual ~http_front() = default;

  virtual socket_poller& sockets() = 0;
  virtual monotonic_time now() = 0;
  /// Value of the Date header.
  virtual std::string_view date() = 0;
  virtual const http::route_settings& routes() = 0;

  /// Fills in what is asked, and the answer if it is known. Does not send anything yet.
  virtual void understand(http_connection& c, const http::raw_request& r, exchange& e) = 0;
  /// Passes it on. The answer is put into `e`, now or later; if later, progress() is called then.
  virtual void dispatch(http_connection& c, exchange& e) = 0;
  /// The body of an upload goes on, in e.transfer.
  virtual void body_arrived(http_connection& c, exchange& e) = 0;
  /// The client has room for more of a download. It is put into e.transfer; then progress() is called.
  virtual void next_piece(http_connection& c, exchange& e) = 0;
  /// Its client has gone; `e` will be destroyed.
  virtual void forget(exchange& e) = 0;
  virtual void count(const exchange& e, int status) = 0;
  /// Last call of a connection; it may be destroyed when its own calls have returned.
  virtual void closed(http_connection& c) = 0;

  virtual std::unique_ptr<http_reader> take_reader() = 0;
  virtual void give_back(std::unique_ptr<http_reader> reader) = 0;

  /// Used within one call only, by one connection at a time.
  std::string input;  ///< has the size of what is read at once
  std::string output; ///< empty between calls
};

struct connection_limits {
  std::size_t in_flight_max = 64;          ///< requests of one connection without an answer
  std::size_t unsent_bytes_max = 1 << 20;  ///< above that, no further request is looked at
  std::size_t waiting_bytes_max = 1 << 16; ///< input kept while none is looked at; beyond that the socket is not read
  std::chrono::seconds stall{60};          ///< half a request, or an answer, without a byte of progress
  std::chrono::milliseconds linger{2000};  ///< after the last answer, until the client closes too
};

class http_connection : public socket_owner, public std::enable_shared_from_this<http_connection> {
public:
  /// @param fd non-blocking, owned from now on
  http_connection(http_front& front, const connection_limits& limits, int fd, const std::string* address);
  ~http_connection() override;

  bool open() const { return fd_ >= 0; }
  void start();
  /// Some exchanges got their answers: writes what is in order, goes on with further requests.
  void progress();
  /// Answers what is in flight, then closes. Blocking queries are answered with `text` and status 500.
  void finish(const std::string& text);
  /// Without another word.
  void close();
  /// Looks for deadlines.
  void sweep(monotonic_time now);
  /// Nothing is in flight and everything is sent.
  bool idle() const { return exchanges_.empty() && unsent_from_ == unsent_.size(); }

  std::list<exchange>& exchanges() { return exchanges_; }
  /// IP address of the client; empty: a Unix socket.
  const std::string& address() const { return *address_; }

  std::size_t place = 0; ///< the front's business

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
  exchange& begin_exchange(bool body_follows);
  void hand_over(bool complete);
  void break_upload();
  bool write_piece(exchange& e);
  void refuse(http_reader::verdict why);
  void write_in_order();
  void append_answer(exchange& e);
  bool flush();
  void end_of_input();
  void begin_linger();
  void drop_exchanges();
  void shut();
  std::size_t unsent() const { return unsent_.size() - unsent_from_ + front_->output.size(); }

  http_front* front_;
  const connection_limits& limits_;
  int fd_;
  socket_poller::interest waits_for_;
  const std::string* address_;
  std::unique_ptr<http_reader> reader_; ///< only while a request is being read
  std::list<exchange> exchanges_;
  std::string waiting_; ///< input not looked at yet
  std::string unsent_;
  std::size_t unsent_from_ = 0;
  monotonic_time last_input_, last_output_, linger_until_{};
  bool busy_ = false; ///< inside progress()
  bool input_ended_ = false;
  bool last_answer_ = false; ///< the last request that is answered has been read
  bool closing_ = false;     ///< its answer is in the output: close when it is sent
  bool lingering_ = false;
  bool uploading_ = false; ///< the body of the last exchange is passed on as it comes
};

} // namespace belay::actors
