#pragma once
// Serves HTTP: the actor on the thread of its sockets. Its connections read requests and write
// answers; it sends each request to the actor that can answer it, and returns the answer. Its parts
// decide and the actor connects them: client_connections (sockets), pending_requests (requests
// that wait), archive_transfers (snapshots), local_questions (status, agent, operator).

#include "actors/actor_context.hpp"
#include "actors/audit/audit_trail.hpp"
#include "actors/gateway/arrival_probe.hpp"
#include "actors/gateway/cache_history.hpp"
#include "actors/gateway/client_connections.hpp"
#include "actors/gateway/requests/access_questions.hpp"
#include "actors/gateway/requests/archive_transfers.hpp"
#include "actors/gateway/requests/http_date.hpp"
#include "actors/gateway/requests/local_questions.hpp"
#include "actors/gateway/requests/passed_on_requests.hpp"
#include "actors/gateway/requests/pending_requests.hpp"
#include "actors/gateway/requests/request_admission.hpp"
#include "actors/gateway/requests/shared_answers.hpp"
#include "actors/gateway/waiting/access_watches.hpp"
#include "actors/gateway/waiting/change_streams.hpp"
#include "actors/gateway/waiting/claim_waits.hpp"
#include "actors/gateway/waiting/disconnected_waits.hpp"
#include "actors/gateway/waiting/log_streams.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/live_limit.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/base/random.hpp"

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::actors {

/// Files of a server for its ACLs. All functions except `elsewhere` may block.
struct access_files {
  /// Calls its argument once, on another thread. Null: call it at once, on this thread
  std::function<void(std::function<void()>)> elsewhere;
  /// Stores tokens set by clients (gateway_settings::tokens). Null: no. @returns an error, or empty
  std::function<std::string()> keep_tokens;
  /// Content of the file acl-bootstrap-reset; zero: it does not exist
  std::function<log_index()> bootstrap_reset;
  /// Call it when it was used.
  std::function<void()> remove_bootstrap_reset;
};

struct gateway_settings {
  std::uint16_t number = 0; ///< index in node_actors::gateways; the upper 16 bits of its request ids
  std::vector<listen_address> listen;
  unix_socket_rights unix_sockets;
  std::shared_ptr<tls::https_credential_store> https; ///< read for each connection; null: no HTTPS
  http::route_settings routes;
  local_facts facts;
  connection_limits limits;
  std::size_t header_bytes_max = 1u << 20;
  live_limit connections_per_client_max{200}; ///< for each IP address (limits.http_max_conns_per_client); 0: no limit
  std::size_t bytes_in_flight_max = 0;        ///< memory for buffered requests and answers; 0: no limit
  std::size_t connections_max = 0;            ///< 0: limit of open files minus a reserve for log and peers
  /// Enforces the last two limits for all gateways of this node. Null: this is the only gateway
  std::shared_ptr<client_admission> admission;
  /// Reads with `?cached` of all gateways of this server. Null: this is the only gateway
  std::shared_ptr<cache_history> cached;
  /// Distributes connections that this gateway accepts. Null: it serves them all
  client_connections::share_function share_connections;
  /// Reads tables of another thread without a message; called on this gateway's thread. The result
  /// has no id. nullopt: the state machine's actor must answer. A null function: it answers all
  /// reads.
  std::function<std::optional<read_result>(const http::read_request&, monotonic_time now)> read_here;
  /// How long other actors may queue a request without a leader (performance.rpc_hold_timeout).
  std::chrono::milliseconds queue_timeout{7000};
  /// raft_peer answers within `hold` plus 30 s for a silent leader. Even later ones get status 500.
  std::chrono::milliseconds answer_slack{60000};
  std::chrono::milliseconds drain{2000}; ///< after stop_atom, for answers in flight
  forward::shedding_rules shedding;
  std::optional<audit_rules> audit; ///< nullopt: no audit log; otherwise node_actors has an audit_log
  std::string metrics_prefix = "belay";
  bool old_metric_names = true;      ///< shows renamed metrics by their old names, too
  std::uint64_t seed = 1;            ///< seed of jitter and, unless `uuid` is set, of session ids
  std::function<std::string()> uuid; ///< fresh random UUID, lower case
  /// Non-blocking; calls `then`, on any thread, with an error; empty: none. Null: nothing to do.
  using order = std::function<void(std::function<void(std::string error)> then)>;
  order reload;           ///< PUT /v1/agent/reload
  order leave;            ///< PUT /v1/agent/leave: leave the cluster; then the process ends
  std::string disk = "/"; ///< a path on the disk that GET /v1/agent/host reports
  /// Tokens of this server itself. Null: it starts with none
  std::shared_ptr<agent_tokens> tokens;
  /// A client agent's relay to the servers, for this thread; outlives it. Null: a server
  request_relay* relay = nullptr;
  std::string simulated_header; ///< a request header that the relay sends on; empty: none. Only the simulator has one
  passed_on_limits passed_on;   ///< limits for the answers that the relay passes on
  std::shared_ptr<vitals> numbers; ///< counts in http_rounds at this gateway's number; null: not counted
  access_files files;
  std::function<std::chrono::system_clock::time_point()> wall_clock; ///< for the Date header and metrics
};

/// Send it tick_atom (or call listen) to start its timers, stop_atom to end it.
/// Stop it before the loop of its host stops.
class http_gateway final : public hosted<http_gateway_actor::base>, private connection_host, private outbox {
public:
  /// @param host null: no sockets (then listen fails)
  http_gateway(caf::actor_config& config, asio_host* host, node_actors_ptr node_actors, gateway_settings settings,
               metrics& m);

  behavior_type make_behavior() override;
  void on_exit() override;

  /// Binds the configured addresses; accepts connections once the loop runs. Any thread, once.
  status listen();
  /// Addresses in the settings' order: host:port with real ports, or unix:///path. @pre listen()
  /// was called
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// Serves a connection of a client agent. Any thread, after listen() or start().
  void serve(client_agent_connection c);
  /// Instead of listen(), for a gateway whose connections another one accepts.
  void start();
  /// Serves a connection that another gateway accepted. Any thread, after start().
  void serve(const accepted_connection& c);
  /// Interface for its connections, for those created without sockets.
  connection_host& as_host() { return *this; }
  /// Ready after stop_atom, when answers in flight are sent or timed out, and sockets closed. Call
  /// it once.
  std::future<void> drained() { return drained_.get_future(); }

  /// When the newest answer was written. Call it on the gateway's thread only.
  monotonic_time last_answer() const { return last_answer_; }

private:
  // connection_host
  socket_poller& sockets() override { return *sockets_; }
  http_reader_pool& readers() override { return readers_; }
  monotonic_time now() override { return now_of(*this, *node_actors_); }
  std::int64_t wall_ns() override;
  std::string_view date() override { return date_.at(wall_seconds()); }
  const http::route_settings& routes() override { return settings_.routes; }
  void understand(const http::raw_request& r, exchange& e) override;
  void dispatch(exchange& e) override;
  void body_arrived(exchange& e) override;
  void next_piece(exchange& e) override;
  void end_wait(exchange& e) override;
  void forget(exchange& e) override;
  bool may_answer(exchange& e) override;
  void dropped(exchange& e) override;
  void count(const exchange& e, int status) override;
  void closed(http_connection& c) override { connections_.remove(c); }
  void shed() override { connections_.shed(); }

  // outbox
  void post(propose_write m) override { send(node_actors_->raft_peer, std::move(m)); }
  void post(status_request m) override { send(node_actors_->raft_peer, std::move(m)); }
  void post(check_write m) override { send(node_actors_->fsm, std::move(m)); }
  void post(read_query m) override { send(node_actors_->fsm, std::move(m)); }
  void post(cancel_query m) override { send(node_actors_->fsm, m); }
  void post(pack_archive m) override { send(node_actors_->checkpointer, m); }
  void post(unpack_archive m) override { send(node_actors_->checkpointer, std::move(m)); }
  void post(close_archive m) override { send(node_actors_->checkpointer, m); }
  void post(wait_changed m) override;
  void post(write_audit m) override { send(node_actors_->audit_log, std::move(m)); }

  void serve(listening_sockets sockets);
  void begin_work();
  http_reader_rules reader_rules() const;

  /// Ends the transfers that send or receive its bodies in pieces. After this no actor uses the
  /// bodies.
  void end_transfer(exchange& e);
  void understand_now(const http::raw_request& r, exchange& e);
  bool put_off(const http::raw_request& r, exchange& e);
  void understand_later(exchange& e);
  /// Sends it on when all required checks have passed.
  void pass_on(exchange& e);
  /// Called after it was sent on, perhaps after its client's input ended: then it does not wait.
  void requested(exchange& e);

  // Requests to other actors, by kind.
  void ask(exchange& e, const state::command& command);
  void ask(exchange& e, const http::read_request& r);
  void ask(exchange& e, const http::change_stream&) { changes_.begin(e, now()); }
  void ask(exchange& e, const http::session_renew& renewal);
  void ask(exchange& e, const http::session_renew_list& renewals);
  void ask(exchange& e, const http::snapshot_save& save);
  void ask(exchange& e, const http::snapshot_restore&);
  void ask(exchange& e, const http::agent_request& r);
  void ask(exchange& e, const http::local_request& r);
  void show_metrics(exchange& e, const http::local_request& r);
  void describe_host(exchange& e);
  void ask(exchange&, const std::unique_ptr<const unread_request>&) {} // pass_on() parses it first
  void ask(exchange& e, const passed_on_request&) { passed_on_.begin(e, now()); }
  void ask_around(exchange& e, const gateway_settings::order& what);

  // http_gateway_access.cpp
  void take_tokens();
  void set_token(exchange& e, const http::agent_token_change& change);
  void ask_bootstrap(exchange& e);
  void propose(exchange& e, const state::command& command);
  void permission_received(exchange& e, const read_result& r);
  /// Rechecks permissions of what waits or streams, where only the gateway can.
  void watch_access(exchange& e);
  void reauthorized(const access_watches::news& n);
  /// Runs `work` on a thread that may block, then `then` with its result here, if `e` still exists.
  void do_elsewhere(exchange& e, std::function<std::string()> work, std::function<void(exchange&, std::string)> then);
  /// Removes the file acl-bootstrap-reset after the command that used its index.
  void note_bootstrapped(const exchange& e, const write_result& r);

  // Results and decisions from other actors.
  void answered(write_results& w);
  void answered(const renew_result& r);
  void answered(read_result& r);
  void note_cached(exchange& e, const read_result& r);
  void answered(const status_result& s);
  void answered(archive_packed& p);
  void answered(const archive_unpacked& u);
  void answered(agent_answer& a);
  void answered(const audit_written& w);
  void decided(exchange& e, write_result& r);
  void note_wait(const wait_changed& w);
  void withdraw_waits();
  /// Wakes this gateway when waits are to be withdrawn, unless that is scheduled.
  void arm_withdrawals();
  /// @returns false: it is not the outcome of a withdrawal
  bool withdrawal_decided(const write_result& r);
  void count_write(const state::command& c, std::chrono::nanoseconds took);
  void render_soon();
  /// @returns true: its time stamp was too old, and it is proposed again with a newer one
  static bool stamp_again(exchange& e, const write_result& r);
  /// @returns true: it was rejected for a lock delay, and waits for its end
  bool wait_for_lock_delay(exchange& e, const write_result& r);
  /// @returns true: it needs this server's node, which is not in the catalog yet, and is retried
  bool wait_for_own_node(exchange& e, const write_result& r);
  void try_again_after(exchange& e, std::chrono::nanoseconds pause, const write_result& refused);
  void view_changed(const cluster_view& v);

  void tick();
  void stop();
  monotonic_time answer_due() { return times_.due(now()); }
  monotonic_time renewal_due(const exchange& e);
  std::int64_t wall_seconds() const;

  asio_host* asio_;
  std::shared_ptr<socket_poller> sockets_; ///< null without a host
  node_actors_ptr node_actors_;
  gateway_settings settings_;
  metrics& metrics_;
  seeded_random random_;
  const answer_times times_;

  std::vector<std::string> addresses_;
  http_reader_pool readers_;
  client_connections connections_;
  pending_requests pending_;
  archive_transfers transfers_;
  log_streams streams_;
  passed_on_requests passed_on_;
  local_questions questions_;
  access_questions access_;
  access_watches access_watches_;
  claim_waits claim_waits_;
  disconnected_waits disconnected_waits_;                       ///< only on the first gateway: those of all
  std::map<request_id, std::vector<wait_changed>> withdrawals_; ///< proposed, outcome not known
  bool withdrawals_armed_ = false;
  change_streams changes_;
  std::uint64_t tokens_seen_ = 0;      ///< version of those in the settings
  std::unique_ptr<audit_trail> audit_; ///< null: there is no audit log
  request_admission admission_;
  std::unique_ptr<arrival_probe> probe_; ///< while it has sockets
  shared_answers large_answers_;
  bool rendering_scheduled_ = false;
  http_date date_;

  std::size_t held_counted_ = 0; ///< as in the metrics
  monotonic_time last_answer_{};
  monotonic_time next_tick_{}, next_sweep_{};
  bool stopping_ = false;
  monotonic_time stop_deadline_{};
  std::promise<void> drained_;
  bool exited_ = false;
};

} // namespace belay::actors
