#pragma once
// The actor that owns a node's Raft core (protocol/raft) and the requests that wait for a leader
// (protocol/forward). It feeds them messages, ticks and confirmed writes, and carries out their
// output. It also forms the cluster (protocol/raft/formation), and serves operators' requests.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/log_rate_limiter.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/coordinates/exchange.hpp"
#include "protocol/diagnosis/uncommitted.hpp"
#include "protocol/forward/keyring_rounds.hpp"
#include "protocol/forward/load_shedder.hpp"
#include "protocol/forward/operator_calls.hpp"
#include "protocol/forward/pending_barriers.hpp"
#include "protocol/forward/pending_calls.hpp"
#include "protocol/forward/proposal_delays.hpp"
#include "protocol/http/operators/health_report.hpp"
#include "protocol/raft/cluster_clock.hpp"
#include "protocol/raft/formation.hpp"
#include "protocol/raft/peer_clocks.hpp"

#include <functional>
#include <map>
#include <set>

namespace belay::actors {

struct raft_peer_settings {
  raft::limits limits;
  /// How long a request waits for a leader (performance.rpc_hold_timeout).
  std::chrono::milliseconds queue_timeout{7000};
  /// Entries kept before a checkpoint, for followers that are a little behind (raft_trailing_logs).
  std::uint64_t trailing_entries = 10240;
  /// This server must not have a vote (read_replica).
  bool replica = false;
  /// Measure network coordinates, and exchange them with the other servers (docs/internals/adr/0015).
  bool coordinates = false;
  /// The settings in force until operators set some (docs/contract/12).
  state::autopilot_settings autopilot;
  /// A member that is silent this long counts as failed (serfHealth, SerfStatus, list of members).
  /// Consul's gossip is about as fast in small clusters. It is far above an election timeout,
  /// because sessions of a failed member end.
  std::chrono::milliseconds member_silence{5000};
  forward::shedding_rules shedding; ///< for writes that other servers forward
  std::uint64_t seed = 1;
  /// The feature level that this server announces and proposes; lower in simulations of an older
  /// server.
  state::feature_level level = state::own_level;
  /// Level of the commands whose effects are in the tables at the start of this server.
  state::feature_level level_in_tables = 0;
  std::size_t queued_calls_max = forward::queued_calls::count_max; ///< writes and renewals that wait for a leader
  std::vector<std::string> join;                                   ///< host:port of peers to dial (retry_join)
  bool stays_out = false;               ///< it has left its cluster: it dials no members until they add it again
  std::function<void()> taken_in_again; ///< called when they have; may be null
  /// Makes durable what this server has promised (protocol/raft/formation.hpp).
  /// @returns false: it could not, and the promise must not be sent
  std::function<bool(const raft::promise&)> promised;
  std::function<cluster_time()> wall_clock; ///< milliseconds since 1970
  /// Makes durable that the data directory belongs to that cluster. @returns false: failed, retry
  std::function<bool(std::uint64_t cluster_id)> joined;
};

/// All messages that are in its mailbox at one moment share one raft::ready. That is one write of
/// the log, one append to each follower, and one read round. Runs on the thread of the peer links.
class raft_peer : public hosted<raft_peer_actor::base> {
public:
  raft_peer(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, raft_peer_settings settings,
            raft::member self, raft::formation formation, raft::restored_state restored, std::shared_ptr<vitals> v,
            metrics& m);

  behavior_type make_behavior() override;

  /// For checks between two messages, on this actor's thread.
  const raft::core& core() const { return core_; }

private:
  // raft_peer.cpp: batches
  monotonic_time now() { return now_of(*this, *node_actors_); }
  raft::local_time local_now() { return now().time_since_epoch(); }
  bool leading() const { return core_.is_leader(); }
  void schedule_flush();
  void flush();
  void carry_out(raft::ready r);
  void on_committed(std::vector<raft::entry> entries);
  /// Schedules sending the commit index and coalesced frames, unless an append carries them first.
  void broadcast_commit_soon();
  void on_tick();
  int ticks_to_sleep() const;
  bool is_steady(const raft::configuration& members) const;
  void sleep();
  int take_ticks(int at_least);
  void make_up_for_ticks();
  void on_peer_connected(const peer_connected& p);
  void on_peer_lost(const peer_lost& p);
  void on_leadership_transfer(const leadership_transfer& h);
  void withdraw_lease(node_id transfer_target);
  void on_lease_given_up(const give_up_lease& g);
  void on_change_members(const change_members& c);
  /// @param why for the log. @returns false: not possible now
  bool propose_members(const raft::configuration& next, std::string_view why);
  void queue_frame(node_id to, wire::frame f) { outbox_.list.emplace_back(to, std::move(f)); }
  void send_outbox();

  // raft_peer_disk.cpp: the log and checkpoints
  void write_next_batches();
  void on_log_written(const log_written& w);
  void on_checkpoint_written(const checkpoint_written& c);
  void on_chunk_loaded(const snapshot_chunk_loaded& s);
  void on_chunk_stored(const snapshot_chunk_stored& s);
  void on_snapshot_in_force(const snapshot_in_force& s);

  // raft_peer_view.cpp: notifies the other actors of leadership and members
  void publish_view();
  void log_role(const raft::soft_state& before);
  void log_members(const raft::configuration& now);
  void extend_lease();
  void answer_status(const status_request& s);
  void log_no_leader();
  void log_no_majority(int ticks);
  void announce_health();
  /// Name of the server in log lines.
  std::string name_of_server(node_id id) const;

  // raft_peer_requests.cpp: carries out what protocol/forward returns
  raft::local_time queue_until() { return local_now() + settings_.queue_timeout; }
  forward::leadership leadership_now();
  void on_propose_write(const propose_write& p);
  void queue_call(forward::queued_call c);
  void enqueue_barrier(forward::queued_barrier b);
  void advance_calls();
  void advance_barriers();
  void carry_out_calls();
  void carry_out_barriers();
  void propose_here(std::vector<forward::queued_call> batch);
  void pass_answer(const forward::queued_call& requested, forward::reply r);
  /// Sends an outcome: refused (rejected) or unknown.
  void respond(const forward::origin& to, wire::call_outcome outcome, std::string text);
  /// Responds to one of this node's own gateways.
  void answer_here(write_result r);
  void send_answers();
  void ask_again();
  void on_internal_proposal(const propose_internal& p);
  bool may_forward(node_id from) const;
  void on_forward_call(node_id from, const wire::forward_call& c);
  bool too_much_for(const wire::forward_call& c);
  void on_forward_reply(node_id from, const wire::forward_reply& r);
  void on_renew_answer(const renew_answer& a);
  void on_reads(const raft::ready& r);
  void on_read_index(node_id from, const wire::read_index& q);
  void on_read_index_reply(node_id from, const wire::read_index_reply& r);

  // raft_peer_operators.cpp: operators' requests to the leader
  struct removal {
    forward::origin from;
    forward::remove_member what;
    raft::local_time deadline{0};
    std::string_view why; ///< for the log; static text
    bool begun = false;   ///< proposed
    log_index entry{};    ///< index of the first half of the change, if begun
  };
  struct addition {
    forward::origin from;
    forward::add_member what;
    raft::local_time deadline{0};
  };
  struct joining {
    request_id id;
    std::string address;
    raft::local_time deadline{0};
    bool fresh = false; ///< no peer and no operator named it before
  };
  void fail_join(const joining& j, const std::string& why);
  void begin_join(const status_request& s);
  void on_dialled(const dialled_now& d);
  void follow_joins();
  void begin_addition(addition a);
  void follow_additions();
  void decide(const forward::queued_call& c);
  void answer_decided(const forward::origin& to, state::reply reply);
  void note_client_agent(const forward::origin& from, const forward::agent_received& agent);
  std::vector<node_id> members_that_answer() const;
  void let_leave(const forward::queued_call& c, const std::string& uuid);
  void force_leave(const forward::queued_call& c, const std::string& name);
  void begin_removal(removal r);
  void follow_removals();

  // raft_peer_autopilot.cpp: health of the members, and what the leader does about it automatically
  void on_autopilot_changed(const autopilot_changed& a);
  http::server_health health_of(const raft::member& m, const std::vector<raft::progress_view>& progress,
                                std::chrono::nanoseconds silence_max, std::uint64_t behind_max) const;
  http::health_report health(const forward::describe_health& rules);
  void look_at_members();
  void transfer_if_replica();

  // raft_peer_members.cpp: messages from peers, and membership
  void on_frames(const frames_received& f);
  void on_hello(const wire::hello& h, bool proven);
  void on_message(node_id from, const raft::message& m);
  void refuse_older_leader(node_id leader);
  void learn(const wire::hello& h);
  void forget_silent_addresses(int ticks);
  bool all_met() const;
  std::vector<std::string> known_addresses() const;
  void announce_self();
  void form_cluster();
  bool join_first_cluster();
  void note_cluster();
  void save_cluster();
  void bring_in_newcomers();
  void count_silence(int ticks);
  /// Whether it is this server, or one that sent a frame within
  /// raft_peer_settings::member_silence.
  bool is_alive(node_id member, const std::vector<raft::progress_view>& progress) const;
  bool is_replica(node_id id) const { return formation_.is_replica(id) || replicas_seen_.contains(id); }
  void dial();
  void send_reachable_members();

  // raft_peer_keyring.cpp: operators' requests about the keys of all members
  void begin_keyring(const status_request& s);
  void pass_keyring_on(request_id id, const forward::keyring_answer& own);
  std::string not_to_be_requested(node_id member) const;
  void on_keyring_call(node_id from, const wire::keyring_call& c);
  void on_keyring_operated(const keyring_operated& k);
  void answer_keyring();

  // raft_peer_coordinates.cpp: network coordinates of the nodes
  void exchange_coordinates();
  void on_coordinates(node_id from, const wire::frame& f);
  void put_coordinate(const status_request& s);
  std::vector<coordinates::row> coordinates_of_members() const;

  // raft_peer_gossip.cpp: periodic messages to peers, cluster time and feature levels
  void gossip();
  void on_gossip(node_id from, const wire::gossip& g);
  void endorse(node_id from);
  cluster_time cluster_now();
  /// An error text if not all members of the configuration are known to support that command;
  /// nullopt: they do.
  /// @param by not zero: only this member is checked
  std::optional<std::string> not_understood(std::string_view command, node_id by = {}) const;
  payload in_common_words(payload command) const;
  payload agent_in_common_words(payload call) const;
  /// Logs, once per reason, that a proposal of this server itself is postponed for that reason.
  void log_upgrade(const std::string& why);
  state::feature_level level_of_member(node_id id) const;
  /// The cluster, and whether all members can read cursors that name their history.
  state::history_scope history();
  /// Publishes history(); called on every tick, and when a peer has identified itself.
  void announce_history();

  node_actors_ptr node_actors_;
  raft_peer_settings settings_;
  raft::member self_;
  raft::formation formation_;
  raft::core core_;
  std::shared_ptr<vitals> vitals_;
  metrics& metrics_;
  log_index checkpointed_;
  term_id checkpoint_term_;

  bool started_ = false;
  wake_ups wake_ups_{wake_ups::begun::by_others};
  int sleeps_for_ = 1;         ///< number of ticks in the current sleep that have not been executed
  monotonic_time ticked_at_{}; ///< ticks are executed up to this time
  bool active_ = false;        ///< messages other than frames arrived since the last tick
  bool flush_scheduled_ = false;
  bool broadcast_scheduled_ = false;
  send_frames outbox_;
  std::vector<raft::persist_batch> unwritten_;
  bool writing_ = false;
  bool disk_full_ = false;
  bool no_space_for_snapshot_ = false; ///< there was no space to store the last chunk received
  std::string snapshot_error_;         ///< reason the last chunk was rejected, as logged
  monotonic_time retry_disk_at_{};
  std::vector<raft::persist_batch> in_flight_; ///< kept to be sent again if the disk was full
  raft::soft_state soft_;
  bool serving_ = false;
  bool handing_over_ = false; ///< the fsm was requested to give up the lease
  monotonic_time lease_sent_{};
  std::set<node_id> connected_;
  /// Servers from which a frame arrived within member_silence: ticks since then.
  /// Ticks, not time: a paused node cannot receive anything.
  std::map<node_id, int> silent_ticks_;
  std::set<node_id> encrypted_; ///< those with an encrypted connection
  std::set<node_id> notified_;  ///< peers that received the present configuration from this node
  monotonic_time next_gossip_{};
  std::set<node_id> skewed_; ///< peers whose wall clock is off, as logged
  raft::peer_clocks clocks_;
  raft::cluster_clock cluster_clock_;                   ///< clock of the present term, on the leader
  std::string upgrade_logged_;                          ///< what was logged last
  std::map<node_id, state::feature_level> levels_seen_; ///< feature levels of members that disconnected
  state::feature_level level_committed_ = 0;            ///< highest committed level: a server that lacks it stops there
  state::history_scope history_sent_;                   ///< in the last view
  monotonic_time began_{};                              ///< zero: no tick yet
  log_rate_limiter complaint_log_limit_;                ///< limits log lines about servers that are not members
  reachable_members contact_sent_;
  raft::autopilot autopilot_;
  monotonic_time next_transfer_{};  ///< earliest next attempt
  std::set<node_id> replicas_seen_; ///< replicas among the members that disconnected

  // What was logged last.
  node_id last_leader_; ///< zero: none was known since the process started
  term_id last_leader_term_;
  raft::configuration members_logged_; ///< never joint
  diagnosis::commit_watch commit_watch_;
  monotonic_time write_began_{};             ///< start of the write to the log, while writing_
  raft::local_time next_leaderless_line_{0}; ///< zero: there is a leader
  raft::local_time next_health_{0};

  std::vector<removal> removals_;
  std::vector<addition> additions_;
  std::vector<joining> joins_;
  forward::keyring_rounds keyrings_;
  std::size_t keyring_calls_ = 0; ///< not answered by keyring_keeper yet

  coordinates::exchange coordinates_;
  std::set<node_id> coordinate_peers_; ///< peers that have announced that they support coordinates

  static constexpr std::size_t learned_max = 64; ///< all of them are dialled
  /// Servers named by peers or operators (host:port), and the ticks since each was named last.
  std::map<std::string, int> learned_;
  wire::hello announced_;
  std::uint64_t note_due_ = 0; ///< the cluster that this node has joined, until it is on the disk
  monotonic_time retry_note_at_{};
  /// Once this batch is durable, so is the log that existed when it joined; 0: not known.
  std::uint64_t note_after_token_ = 0;

  forward::pending_calls calls_;
  forward::load_shedder shedder_;
  forward::proposal_delays delays_;
  forward::pending_barriers barriers_;
  std::vector<write_results> answers_; ///< by gateway
};

} // namespace belay::actors
