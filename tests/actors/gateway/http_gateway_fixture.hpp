#pragma once
// A gateway on a real socket, with actors behind it that do what a test requires.

#include "actors/gateway/http_gateway.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace belay::actors::testing {

/// A request as sent. `more`: header lines, each with its end.
inline std::string get(const std::string& target, const std::string& more = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
}

inline std::string put(const std::string& target, const std::string& body) {
  return "PUT " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// What the gateway has sent to the actors behind it, and how they respond.
struct backstage {
  std::mutex mutex;
  std::vector<propose_write> writes;
  std::vector<check_write> checked;                         ///< answered `false`
  log_index check_index;                                    ///< index of the entries that they became; zero: none
  std::vector<state::reply> check_replies;                  ///< or with these, while there are any; the last first
  std::function<state::reply(const state::command&)> apply; ///< or with its result. Null: nothing
  std::vector<read_query> reads;
  std::vector<request_id> cancelled;
  std::vector<request_id> wait_ended; ///< a held read is answered then
  bool hold_writes = false;           ///< they are kept for the test to answer
  bool hold_reads = false;
  status_result status;
  std::function<state::query_result(const state::query&)> answer; ///< null: every key has the value "v"
  /// nullopt: it waits, and the test answers. Null: this node has no agent
  std::function<std::optional<agent::reply>(const agent_call&)> agent;
  std::vector<agent_call> agent_calls;

  std::size_t write_count() {
    std::lock_guard lock(mutex);
    return writes.size();
  }
  std::size_t read_count() {
    std::lock_guard lock(mutex);
    return reads.size();
  }
  std::size_t check_count() {
    std::lock_guard lock(mutex);
    return checked.size();
  }
  std::size_t end_count() {
    std::lock_guard lock(mutex);
    return wait_ended.size();
  }
  std::size_t cancel_count() {
    std::lock_guard lock(mutex);
    return cancelled.size();
  }
};

/// Polls until `what` holds. @returns false after ten seconds
bool eventually(const std::function<bool()>& what);

state::query_result entry_result(const std::string& key, const std::string& value);

struct answer {
  int status = 0;
  std::string head, body;

  bool has(const std::string& text) const { return head.find(text) != std::string::npos; }
};

/// Removes the first response from `bytes`, if it is complete.
/// @param body false: the response has none (HEAD, 100 Continue)
bool take_answer(std::string& bytes, answer& a, bool body = true);

/// A blocking TCP client; gives up reading after ten seconds.
class raw_client {
public:
  explicit raw_client(std::uint16_t port, int receive_buffer = 0);
  raw_client(raw_client&& other) noexcept : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}
  ~raw_client() { close(); }

  void send(const std::string& bytes);
  void end_of_output();
  void close();
  /// Closes with a reset: the server sees at once that the client has stopped reading.
  void reset();
  /// @param body false: the response has none (HEAD, 100 Continue). @returns status 0: closed
  answer read(bool body = true);
  /// Whether nothing more arrives, and the connection is closed.
  bool closed();
  /// The next bytes, whatever they are; empty: the connection is closed.
  std::string receive();
  /// Everything that arrives until the connection is closed.
  std::string rest();
  answer ask(const std::string& request) {
    send(request);
    return read();
  }

private:
  bool fill();
  int fd_ = -1;
  std::string buffer_;
};

class gateway_fixture {
public:
  using spawn_audit = std::function<audit_log_actor(caf::actor_system&, const node_actors_ptr&)>;

  /// Listens for HTTPS if there are credentials, else for HTTP.
  /// @param audit null: no audit log
  explicit gateway_fixture(gateway_settings settings = {}, std::shared_ptr<const node_clock> clock = nullptr,
                           bool with_agent = false, const spawn_audit& audit = nullptr);
  ~gateway_fixture();

  raw_client client(int receive_buffer = 0) { return raw_client(port_, receive_buffer); }
  /// When it returns, the gateway has handled everything that was sent to it before.
  void sync();
  /// Answers the agent_call of that number.
  void answer_agent(std::size_t which, agent::reply r);
  /// Answers held writes, by their order of arrival.
  void answer_write(std::size_t which, write_result r);
  void answer_read(std::size_t which);
  /// All reads from the first one on get the same rows, as if one change had woken them.
  void answer_reads_with(std::size_t first, std::shared_ptr<const state::query_result> rows);
  /// Orders the gateway to stop and waits until it has.
  bool stop();

  std::uint16_t port() const { return port_; }
  backstage& behind() { return *behind_; }
  metrics& numbers() { return metrics_; }

private:
  struct config : caf::actor_system_config {
    config() {
      set("scheduler.policy", caf::atom("sharing"));
      set("scheduler.max-threads", std::size_t{1});
    }
  };
  config config_;
  caf::actor_system system_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{loop_.get_executor()};
  asio_host host_;
  metrics metrics_;
  std::shared_ptr<backstage> behind_ = std::make_shared<backstage>();
  node_actors_ptr node_actors_ = std::make_shared<node_actors>();
  std::future<void> drained_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

} // namespace belay::actors::testing
