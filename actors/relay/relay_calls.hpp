#pragma once
// Pending calls of a server_relay: clients' requests and the agent's own. For its sources only.

#include "actors/relay/request_text.hpp"
#include "actors/relay/server_relay.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::actors {

namespace relay_limits {

constexpr int attempts_max = 3;
constexpr std::size_t servers_max = 64;
constexpr std::size_t connections_max = 4096; ///< also if the servers have no limit
/// Connections for each lane; the clients get what is left. A probe (server_heartbeats) and a join
/// may need one each at the same time.
constexpr std::size_t relay_links_max = 3; ///< heartbeat, list of servers, departure
constexpr std::size_t rows_links_max = 20;
constexpr std::size_t probes_and_joins = 2;
/// Clients' connections that requests which may wait leave to the others.
constexpr std::size_t links_without_waits = 10;
constexpr std::size_t own_answer_bytes_max = 64u << 10; ///< limit for answers to the agent's own requests
constexpr std::chrono::milliseconds dial_limit{2000};
constexpr std::chrono::milliseconds beat_limit{3000}; ///< for a response to a heartbeat
constexpr auto unwritable_request = "malformed HTTP request";
constexpr auto no_answer = "no response within 3 s";

} // namespace relay_limits

/// A request in progress.
class server_relay::call final : public relayed_call, public answer_listener {
public:
  call(server_relay& relay, relayed_request r, answer_listener& listener, monotonic_time deadline)
      : relay_(&relay), request(std::move(r)), deadline(deadline), listener_(listener) {}
  ~call() override {
    if (relay_ != nullptr)
      relay_->forget(*this);
  }

  void send_body(std::string_view bytes, bool last) override {
    if (on != nullptr) {
      on->connection->send_body(bytes, last);
    } else {
      body_ += bytes;
      body_ended_ = last;
    }
  }
  std::size_t unsent() const override { return on != nullptr ? on->connection->unsent() : body_.size(); }
  void let_come(bool wanted) override {
    if (on != nullptr)
      on->connection->let_come(wanted);
  }

  void end_wait() override {
    wait_ended = true;
    if (on != nullptr)
      on->connection->end_output(last_words());
  }
  /// Whether to notify the server that the client disconnected, not this agent; no response is
  /// awaited.
  bool leaves_words() const { return wait_ended && request.waits_for_lock; }

  void carried_by(link& l) {
    PRECONDITION(on == nullptr);
    PRECONDITION(l.carries == nullptr);
    PRECONDITION(attempts < relay_limits::attempts_max);
    on = &l;
    server = l.connection->server();
    ++attempts;
    l.carries = this;
    l.connection->carry(request, *this);
    if (request.body_follows && (!body_.empty() || body_ended_))
      l.connection->send_body(std::exchange(body_, {}), body_ended_);
    if (wait_ended)
      l.connection->end_output(last_words());
  }
  /// Whether it may be retried although the server may have received it.
  bool may_repeat() const {
    return (request.method == "GET" || MUTANT(passed_on_write_repeated)) && attempts < relay_limits::attempts_max &&
           !wait_ended; // a server of an earlier version closes the connection instead
  }
  void fail(std::string text, bool nothing_sent) {
    relay_ = nullptr;
    listener_.on_failure(std::move(text), nothing_sent);
  }
  /// Answers it here. Each callback may destroy this object.
  void reject(int status, std::string_view text) {
    relay_ = nullptr;
    auto& listener = listener_;
    const std::weak_ptr<const char> here = alive;
    listener.on_head(status, {{"Content-Type", "text/plain; charset=utf-8"}, {"Retry-After", "1"}});
    if (!here.expired())
      listener.on_body(text);
    if (!here.expired())
      listener.on_end();
  }

  // answer_listener
  void on_head(int status, header_list headers) override {
    relay_->heartbeats_.received(server, relay_->loop_.now());
    listener_.on_head(status, std::move(headers));
  }
  void on_body(std::string_view bytes) override {
    relay_->heartbeats_.received(server, relay_->loop_.now());
    listener_.on_body(bytes);
  }
  void on_end() override {
    INVARIANT(on != nullptr && on->carries == this);
    on->carries = nullptr;
    on = nullptr;
    relay_ = nullptr;
    listener_.on_end();
  }
  void on_failure(std::string text, bool nothing_sent) override {
    INVARIANT(on != nullptr && on->carries == this);
    on->carries = nullptr;
    on = nullptr;
    relay_ = nullptr;
    listener_.on_failure("rpc error making call: " + text, nothing_sent);
  }

private:
  std::string_view last_words() const { return request.waits_for_lock ? client_disconnected : std::string_view(); }

  server_relay* relay_; ///< null: it has ended

public:
  relayed_request request;
  monotonic_time deadline; ///< for finding a server
  link* on = nullptr;
  std::string server; ///< the last one that it was sent to
  int attempts = 0;
  bool wait_ended = false;                                            ///< its client may be gone
  std::shared_ptr<const char> alive = std::make_shared<const char>(); ///< for callbacks that run later

private:
  answer_listener& listener_;
  std::string body_; ///< not passed to a connection yet
  bool body_ended_ = false;
};

/// A request of the agent itself.
class server_relay::question final : public answer_listener {
public:
  using answered = std::function<void(int status, const std::string& body)>; ///< status 0: no response, and why

  question(server_relay& relay, std::string method, std::string target, answered then, header_list headers = {})
      : then_(std::move(then)) {
    relayed_request r{std::move(method), std::move(target), std::move(headers), {}, false};
    r.lane = MUTANT(heartbeat_waits_with_clients) ? relay_lane::clients : relay_lane::relay;
    call_ = relay.begin(std::move(r), *this);
  }

  /// The server that received the request; empty: no server has received it.
  const std::string& server() const { return static_cast<const call&>(*call_).server; }

  void on_head(int status, header_list) override { status_ = status; }
  void on_body(std::string_view bytes) override {
    if (body_.size() + bytes.size() <= relay_limits::own_answer_bytes_max)
      body_ += bytes;
  }
  void on_end() override { finish(status_, body_); }
  void on_failure(std::string text, bool) override { finish(0, text); }

private:
  void finish(int status, std::string what) {
    INVARIANT(then_);                   // answered once
    const auto then = std::move(then_); // which may destroy this object
    then(status, what);
  }

  answered then_;
  int status_ = 0;
  std::string body_;
  std::unique_ptr<relayed_call> call_;
};

} // namespace belay::actors
