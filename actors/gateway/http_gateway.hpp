#pragma once
// Serves HTTP: an actor on the thread of its sockets. Parses, asks fsm and raft_peer, renders, keeps answers in order.

#include "actors/gateway/http_connection.hpp"
#include "actors/gateway/local_answers.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/request_ids.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/base/random.hpp"

#include <functional>
#include <future>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::actors {

struct gateway_settings {
  std::uint16_t number = 0; ///< place in wiring::gateways; the upper 16 bits of its request ids
  std::vector<listen_address> listen;
  bool share_port = false; ///< with other gateways on the same addresses
  http::route_settings routes;
  local_facts facts;
  connection_limits limits;
  std::size_t header_bytes_max = 1u << 20;
  int connections_per_client_max = 200; ///< for each IP address (limits.http_max_conns_per_client); 0: no limit
  std::size_t connections_max = 0;      ///< 0: what the limit of open files leaves after a reserve for log and peers
  std::chrono::milliseconds hold{
      7000}; ///< how long others may keep a request without a leader (performance.rpc_hold_timeout)
  /// raft_peer answers within `hold`, plus 30 s for a silent leader. What is late by more is answered 500: a fault of ours.
  std::chrono::milliseconds answer_slack{60000};
  std::chrono::milliseconds drain{2000}; ///< after stop_atom, for answers in flight
  std::string metrics_prefix = "belay";
  std::uint64_t seed = 1;            ///< of jitter and, unless `uuid` is set, of session ids
  std::function<std::string()> uuid; ///< fresh random UUID, lower case
  /// PUT /v1/agent/reload. @returns what went wrong; empty: nothing
  std::function<std::string()> reload;
  std::function<std::chrono::system_clock::time_point()> wall_clock; ///< for the Date header and metrics
};

/// Send it tick_atom (or call listen) to start its timers, stop_atom to end it. Stop it before its host's loop is
/// stopped.
class http_gateway final : public hosted<http_gateway_actor::base>, private http_front {
public:
  /// @param host null: no sockets (simulation, where listen fails)
  http_gateway(caf::actor_config& config, asio_host* host, wiring_ptr wires, gateway_settings settings, metrics& m);

  behavior_type make_behavior() override;
  void on_exit() override;

  /// Binds the configured addresses; connections are accepted as soon as the loop runs. Any thread, once.
  status listen();
  /// Where it listens: host:port with real ports, or unix:///path. After listen().
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// Ready when all answers in flight are sent after stop_atom, or their time is up, and all sockets are closed. Once.
  std::future<void> drained() { return drained_.get_future(); }

  /// When the newest answer was written. On the gateway's thread only.
  monotonic_time last_answer() const { return last_answer_; }

private:
  struct asked {
    http_connection* connection;
    exchange* what;
  };

  // http_front
  socket_poller& sockets() override { return *sockets_; }
  monotonic_time now() override { return clock().now(); }
  std::string_view date() override;
  const http::route_settings& routes() override { return settings_.routes; }
  void understand(http_connection& c, const http::raw_request& r, exchange& e) override;
  void dispatch(http_connection& c, exchange& e) override;
  void forget(exchange& e) override;
  void body_arrived(http_connection& c, exchange& e) override;
  void next_piece(http_connection& c, exchange& e) override;
  void count(const exchange& e, int status) override;
  void closed(http_connection& c) override;
  std::unique_ptr<http_reader> take_reader() override;
  void give_back(std::unique_ptr<http_reader> reader) override;

  void serve(listening_sockets sockets);
  void accepted(int fd, const std::string& address);
  request_id new_id(http_connection& c, exchange& e);
  void send_read(exchange& e, const http::read_request& r);
  void send_agent(http_connection& c, exchange& e, const http::agent_request& r);
  void answer_here(http_connection& c, exchange& e, const http::local_request& r);

  // http_gateway_snapshots.cpp
  void begin_save(http_connection& c, exchange& e, const http::snapshot_save& s);
  void on_checkpointed(http_connection& c, exchange& e, const read_result& r);
  void on_packed(archive_packed& p);
  void begin_restore(http_connection& c, exchange& e);
  void unpack_more(http_connection& c, exchange& e);
  void on_unpacked(archive_unpacked& u);
  void propose_part(http_connection& c, exchange& e);
  void on_part_decided(http_connection& c, exchange& e, write_result& r);
  void abandon(exchange& e);
  void end_restore(exchange& e, std::string text);

  /// Whose request has this id; null if its client is gone.
  http_connection* connection_of(request_id id) const;
  /// The exchange that has this id, no longer waited for; null if its client is gone.
  exchange* settle(request_id id);
  void on_writes(write_results& w);
  /// @returns true: it was refused for a lock-delay, and waits for its end.
  bool wait_for_lock_delay(http_connection& c, exchange& e, const write_result& r);
  void on_renewal(const renew_result& r);
  void on_read(read_result& r);
  void on_status(const status_result& s);
  void ask_for_health(http_connection& c, exchange& e, const read_result& r);
  void on_view(const cluster_view& v);
  void on_agent(const agent_answer& a);
  void progress_touched();
  void on_tick();
  void sweep();
  void stop();
  void close_all();
  bool drained_now() const;
  std::int64_t wall_seconds() const;

  asio_host* asio_;
  std::shared_ptr<socket_poller> sockets_; ///< null without a host
  wiring_ptr wires_;
  gateway_settings settings_;
  metrics& metrics_;
  http_reader_rules reader_rules_;
  seeded_random random_;

  std::vector<std::string> addresses_;
  std::vector<std::shared_ptr<http_listener>> listeners_;
  std::vector<std::shared_ptr<http_connection>> connections_;
  std::unordered_map<std::string, int> connections_of_client_;
  std::vector<std::unique_ptr<http_reader>> spare_readers_;

  request_ids ids_;
  std::unordered_map<request_id, asked> asked_;
  std::vector<std::shared_ptr<http_connection>> touched_; ///< have new answers
  cluster_view view_;
  bool view_known_ = false;

  monotonic_time last_answer_{};
  std::int64_t date_second_ = -1;
  std::string date_;
  monotonic_time next_tick_{}, next_sweep_{};
  bool stopping_ = false;
  monotonic_time stop_deadline_{};
  std::promise<void> drained_;
  bool exited_ = false;
};

} // namespace belay::actors
