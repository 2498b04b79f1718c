#pragma once
// Serves HTTP: the actor on the thread of its sockets. Its connections read requests and write answers; it passes each
// request to the actor that can answer it, and each answer back. The parts decide, the actor connects them:
// client_connections (sockets), pending_requests (who waits for what), archive_transfers (snapshots), local_questions
// (status, agent, operator).

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
#include "actors/surroundings.hpp"
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

/// What is on the disk of a server for its ACLs. All but `elsewhere` may block.
struct access_files {
  /// Calls it on another thread, once. Null: at once, here
  std::function<void(std::function<void()>)> elsewhere;
  /// Writes down what clients have set of gateway_settings::tokens. Null: it is not kept. @returns what went wrong; empty: nothing
  std::function<std::string()> keep_tokens;
  /// What the file acl-bootstrap-reset says; zero: it is not there
  std::function<log_index()> bootstrap_reset;
  /// It was used.
  std::function<void()> remove_bootstrap_reset;
};

struct gateway_settings {
  std::uint16_t number = 0; ///< place in wiring::gateways; the upper 16 bits of its request ids
  std::vector<listen_address> listen;
  unix_socket_rights unix_sockets;
  std::shared_ptr<tls::https_credential_store> https; ///< asked for each connection; null: no HTTPS
  http::route_settings routes;
  local_facts facts;
  connection_limits limits;
  std::size_t header_bytes_max = 1u << 20;
  live_limit connections_per_client_max{200}; ///< for each IP address (limits.http_max_conns_per_client); 0: no limit
  std::size_t bytes_in_flight_max = 0;        ///< of requests and answers that are held for clients; 0: no limit
  std::size_t connections_max = 0; ///< 0: what the limit of open files leaves after a reserve for log and peers
  /// What the last two say, for all gateways of this node together. Null: this is the only one
  std::shared_ptr<client_admission> admission;
  /// What was read with `?cached`, of all gateways of this server together. Null: this is the only one
  std::shared_ptr<cache_history> cached;
  /// Connections that this gateway accepts, to be spread over others. Null: it serves them all
  client_connections::hand_over share_connections;
  /// If the tables are on another thread: what is read there and then, without an id; nullopt: the state machine's actor has to be asked. On this
  /// gateway's thread. Null: it is always asked
  std::function<std::optional<read_result>(const http::read_request&, monotonic_time now)> read_here;
  /// How long others may keep a request without a leader (performance.rpc_hold_timeout).
  std::chrono::milliseconds hold{7000};
  /// raft_peer answers within `hold`, plus 30 s for a silent leader. What is late by more is answered 500: a fault of ours.
  std::chrono::milliseconds answer_slack{60000};
  std::chrono::milliseconds drain{2000}; ///< after stop_atom, for answers in flight
  forward::shedding_rules shedding;
  std::optional<audit_rules> audit; ///< nullopt: there is no audit log; else there is an audit_log in the wiring
  std::string metrics_prefix = "belay";
  std::uint64_t seed = 1;            ///< of jitter and, unless `uuid` is set, of session ids
  std::function<std::string()> uuid; ///< fresh random UUID, lower case
  /// Does not wait, and calls `then`, on any thread, with what went wrong; empty: nothing. Null: there is nothing to be done.
  using order = std::function<void(std::function<void(std::string error)> then)>;
  order reload;           ///< PUT /v1/agent/reload
  order leave;            ///< PUT /v1/agent/leave: out of the cluster; then the process ends
  std::string disk = "/"; ///< a path on the disk that GET /v1/agent/host tells of
  /// Of this server itself. Null: it has none at first
  std::shared_ptr<agent_tokens> tokens;
  /// Of a client agent: its way to the servers, used on this gateway's thread; outlives it. Null: this node is a server
  request_relay* relay = nullptr;
  passed_on_limits passed_on;      ///< of its answers
  std::shared_ptr<vitals> numbers; ///< its front_turns of this gateway's number are kept; null: they are not
  access_files files;
  std::function<std::chrono::system_clock::time_point()> wall_clock; ///< for the Date header and metrics
};

/// Send it tick_atom (or call listen) to start its timers, stop_atom to end it. Stop it before its host's loop is
/// stopped.
class http_gateway final : public hosted<http_gateway_actor::base>, private http_front, private outbox {
public:
  /// @param host null: no sockets (then listen fails)
  http_gateway(caf::actor_config& config, asio_host* host, wiring_ptr wires, gateway_settings settings, metrics& m);

  behavior_type make_behavior() override;
  void on_exit() override;

  /// Binds the configured addresses; connections are accepted as soon as the loop runs. Any thread, once.
  status listen();
  /// Where it listens, in the order of the settings: host:port with real ports, or unix:///path. After listen().
  const std::vector<std::string>& addresses() const { return addresses_; }
  /// Serves a connection of a client agent. Any thread, after listen() or start().
  void serve(client_agent_connection c);
  /// Instead of listen(), for a gateway whose connections are accepted by another one.
  void start();
  /// Serves a connection that another gateway has accepted. Any thread, after start().
  void serve(const accepted_connection& c);
  /// What its connections see of it: for those that are made without sockets.
  http_front& front() { return *this; }
  /// Ready when all answers in flight are sent after stop_atom, or their time is up, and all sockets are closed. Once.
  std::future<void> drained() { return drained_.get_future(); }

  /// When the newest answer was written. On the gateway's thread only.
  monotonic_time last_answer() const { return last_answer_; }

private:
  // http_front
  socket_poller& sockets() override { return *sockets_; }
  http_reader_pool& readers() override { return readers_; }
  monotonic_time now() override { return now_of(*this, *wires_); }
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
  void post(propose_write m) override { send(wires_->raft_peer, std::move(m)); }
  void post(status_request m) override { send(wires_->raft_peer, std::move(m)); }
  void post(check_write m) override { send(wires_->fsm, std::move(m)); }
  void post(read_query m) override { send(wires_->fsm, std::move(m)); }
  void post(cancel_query m) override { send(wires_->fsm, m); }
  void post(pack_archive m) override { send(wires_->checkpoints, m); }
  void post(unpack_archive m) override { send(wires_->checkpoints, std::move(m)); }
  void post(close_archive m) override { send(wires_->checkpoints, m); }
  void post(wait_changed m) override;
  void post(write_audit m) override { send(wires_->audit, std::move(m)); }

  void serve(listening_sockets sockets);
  void begin_work();
  http_reader_rules reader_rules() const;

  /// Nobody works on its bodies any more.
  void end_transfer(exchange& e);
  void understand_now(const http::raw_request& r, exchange& e);
  bool put_off(const http::raw_request& r, exchange& e);
  void understand_later(exchange& e);
  /// Whoever has to be asked before may have agreed.
  void pass_on(exchange& e);
  /// It was asked for, perhaps after the end of its client's input: then it does not wait, either.
  void asked(exchange& e);

  // What is asked of others, by what the client wants.
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
  void ask(exchange&, const std::unique_ptr<const unread_request>&) {} // pass_on() understands it first
  void ask(exchange& e, const passed_on_request&) { passed_on_.begin(e, now()); }
  void ask_around(exchange& e, const gateway_settings::order& what);

  // http_gateway_access.cpp
  void take_tokens();
  void set_token(exchange& e, const http::agent_token_change& change);
  void ask_bootstrap(exchange& e);
  void propose(exchange& e, const state::command& command);
  void permission_told(exchange& e, const read_result& r);
  /// What waits or streams where only the gateway can judge it again.
  void watch_access(exchange& e);
  void judged_again(const access_watches::news& n);
  /// `work` on a thread that may block, then `then` with what that said on this one. If `e` is still there then, it is not waiting any more.
  void do_elsewhere(exchange& e, std::function<std::string()> work, std::function<void(exchange&, std::string)> then);
  /// For a command of somebody's: the state machine has judged one.
  void note_bootstrapped(const exchange& e, const write_result& r);

  // What others have found out or decided.
  void answered(write_results& w);
  void answered(const renew_result& r);
  void answered(read_result& r);
  void mark_cached(exchange& e, const read_result& r);
  void answered(const status_result& s);
  void answered(archive_packed& p);
  void answered(const archive_unpacked& u);
  void answered(agent_answer& a);
  void answered(const audit_written& w);
  void decided(exchange& e, write_result& r);
  void note_wait(const wait_changed& w);
  void withdraw_waits();
  /// Wakes this gateway when waits are to be withdrawn, unless that is on its way.
  void arm_withdrawals();
  /// @returns false: it is not the outcome of a withdrawal
  bool withdrawal_decided(const write_result& r);
  void count_write(const state::command& c, std::chrono::nanoseconds took);
  void render_soon();
  /// @returns true: it came with a time that was too old, and is to be proposed again with a newer one
  static bool stamp_again(exchange& e, const write_result& r);
  /// @returns true: it was refused for a lock-delay, and waits for its end
  bool wait_for_lock_delay(exchange& e, const write_result& r);
  /// @returns true: it wants a session on this server's node, which is not in the catalog yet, and is tried again
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
  wiring_ptr wires_;
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
  disconnected_waits disconnected_waits_;                       ///< of the first gateway only: those of all
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

  std::size_t held_counted_ = 0; ///< in the metrics
  monotonic_time last_answer_{};
  monotonic_time next_tick_{}, next_sweep_{};
  bool stopping_ = false;
  monotonic_time stop_deadline_{};
  std::promise<void> drained_;
  bool exited_ = false;
};

} // namespace belay::actors
