#pragma once
// The actor that owns the replicated state machine (protocol/state). It applies committed entries,
// answers reads, publishes changes to the other actors, and starts checkpoints.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/tables/acquires_underway.hpp"
#include "actors/tables/checkpoint_schedule.hpp"
#include "actors/tables/shared_tables.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/telemetry/vitals.hpp"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace belay::actors {

struct fsm_settings {
  checkpoint_limits checkpoints;
  std::chrono::milliseconds tombstone_ttl{std::chrono::minutes(15)}; ///< docs/contract/02, section 3
  /// Bins for reaping deletions (Consul: agent/consul/state/graveyard, tombstone_gc granularity).
  std::chrono::milliseconds tombstone_bin{std::chrono::seconds(30)};
  std::size_t changes_bytes_max =
      state::change_window_bytes_usual; ///< size of the kept window of key changes, for the change feed
  /// Removed keys freed by the removing entry, and in each later slice. 4,096 take about 2 ms.
  std::size_t torn_down_at_once = 4096, torn_down_in_a_slice = 4096;
  /// Minimum rows of a long read, and rows that it reads in each slice (about 1 ms).
  std::size_t long_read_rows = state::long_read::rows_min_usual, read_in_a_slice = 8192;
  std::chrono::milliseconds queue_timeout{7000}; ///< how long a read may wait for this node to apply what it needs
  bool acl_enabled = false;                      ///< the leader creates the initial rows of ACLs
  std::string master_token;                      ///< acl.tokens.master; empty: none is created
  std::function<std::string()> uuid;             ///< fresh random UUID, lower case; for ACLs
  std::function<cluster_time()> wall_clock;      ///< milliseconds since 1970; for ACLs
  /// Settings that this server writes as the leader if operators have set none; nullopt: none.
  std::optional<state::autopilot_settings> autopilot;
  /// Longest time that the leader of a new cluster delays responses to writes. It waits until its
  /// agent has written the catalog's first node, so that the client finds it there. Zero: no delay.
  std::chrono::milliseconds first_node_wait{0};
  /// Longest time that the leader delays the response to a restore. It waits until its agent has
  /// written this cluster's members into the catalog, so that the client can create sessions. Zero:
  /// no delay.
  std::chrono::milliseconds mended_wait{0};
  /// Tables for gateways on other threads. Null: there are none.
  std::shared_ptr<shared_tables> shared;
};

/// Highest level of commands with effects in these tables: a server that lacks it stops there.
state::feature_level level_in_tables(const state::machine& m);

/// Runs on the gateway's thread, so that a read needs no thread switch.
/// A read is answered - stale: at once, from what is applied here; - default: at once under
/// the leader's lease, otherwise after a barrier that the lease may confirm; - consistent:
/// after a barrier confirmed by a quorum. Barriers of a batch share one request.
/// A follower reads its tables at the index from the leader.
class fsm : public hosted<fsm_actor::base> {
public:
  /// `applied` is the last entry applied to `machine` (index zero: empty).
  fsm(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, fsm_settings settings,
      std::shared_ptr<state::machine> machine, raft::snapshot_meta applied, std::shared_ptr<vitals> v, metrics& m);

  behavior_type make_behavior() override;

  /// For checks between two messages, on this actor's thread.
  const state::machine& machine() const { return *machine_; }
  monotonic_time lease_until() const { return lease_until_; }

private:
  struct read_group {
    std::vector<read_query> queries;
    std::vector<check_write> writes; ///< rejected by tables that may be stale
    /// Reads of changes after a cursor that was not applied here when they arrived.
    /// Only for a barrier that a quorum confirms.
    std::vector<read_query> ahead;
    bool empty() const { return queries.empty() && writes.empty() && ahead.empty(); }
    bool lease_ok = false;
    bool waits = true; ///< for a leader
    monotonic_time deadline{};
  };

  monotonic_time now() { return now_of(*this, *node_actors_); }
  void apply(const committed_entries& c);
  /// Reports the outcome of an entry as unknown: an installed snapshot includes it, so its result
  /// is lost.
  void respond_unknown(const origin& who, std::vector<write_result>& own, forwarded_results& forwarded) const;
  /// Adds to `acquired` the keys whose acquires were applied: other acquires may wait for them.
  state::reply apply_command(const raft::entry& e, const std::optional<state::command>& command,
                             state::effects& changed, std::vector<std::string>& acquired);
  void check(check_write w);
  /// `caught_up`: everything committed when the request arrived is applied here.
  void authorize(check_write w, bool caught_up);
  void pass_on(const check_write& w);
  void ask_again(const std::vector<check_write>& kept);
  /// @returns the rejection; nullopt: it was passed on, or kept
  std::optional<write_result> pass_on_or_refuse(const check_write& w);
  void refuse(const check_write& w, const std::string& text);
  void answer_write(write_result result);
  void answer_writes(std::vector<write_result>& results);
  void answer_applied(std::vector<write_result> own, forwarded_results forwarded);
  // fsm_restores.cpp
  /// Accessor of the token that proposes a restore, while its row exists; "none" without ACLs.
  std::string accessor_of(const state::command& c) const;
  void on_restored(const raft::entry& e, const std::string& accessor);
  void on_restored_elsewhere();
  /// @returns true: the response is delayed until the catalog is corrected
  bool keep_restore_answer(const origin& to, state::reply& reply, log_index index);
  void answer_restores(bool mended);
  bool waits_for_first_node();
  /// Whether it leads, and no other server can have been elected: then it has applied all that is
  /// committed.
  bool serves_under_lease();
  void notify_alarm();
  void read(const read_query& q);
  void cancel(request_id id);
  void end_wait_of(request_id id);
  void plan_barriers();
  void request_barriers();
  void request_barrier(read_group& group);
  void serve_all(const read_group& group);
  void refuse_all(const read_group& group, const std::string& text);
  void on_barrier(const barrier_result& b);
  void serve_waiting();
  void drop_cancelled();
  void give_up_waiting();
  // fsm_access.cpp
  /// Whether a request on behalf of that token can be authorized.
  bool can_authorize(const std::optional<state::auth_context>& by) const { return !by || machine_->has_access_rows(); }
  void wait_for_access(const read_query& q);
  void serve_authorized();
  /// @returns true: the read is not permitted, and the response was sent
  bool answer_refusal(const read_query& q);
  void reauthorize_parked();
  void reauthorize_some_parked();
  /// Notes when the token of a query about to wait expires.
  void note_end_of_token(const read_query& q);
  /// Called on every tick.
  void reauthorize_when_a_token_ends();
  void initialize_access();
  bool has_master_token();
  void serve(const read_query& q);
  // fsm_changes.cpp
  void serve_changes(read_query q);
  void answer_changes(read_query q, state::query_result found);
  /// @param committed for read_group::ahead: commit index that a quorum confirmed
  /// after the query arrived
  void answer_ahead(read_query q, log_index committed);
  /// No leader has confirmed an index.
  void keep_ahead(read_query q, const std::string& why);
  /// Called on every tick.
  void look_at_ahead();
  void answer_unproven(const read_query& q);
  bool is_unclear(const read_query& q, const state::query_result& found) const;
  void wait_for_history(read_query q);
  /// @returns true: nothing that it waits for has happened; it continues from there
  static bool goes_on_waiting(read_query& q, const state::query_result& found);
  bool has_to_wait(const read_query& q);
  log_index index_of(const state::query& q);
  bool is_behind(const read_query& q) const;
  void look_at_woken();
  void look_again(const queries_touched& t);
  /// Results shared by several queries that were woken together.
  using shared_results = std::vector<std::pair<state::query, std::shared_ptr<const state::query_result>>>;
  void look_at_changes(read_query& q, const queries_touched& t, shared_results& known);
  void park(const read_query& q);
  void reply_to(const read_query& q, state::query_result result);
  void reply_to(const read_query& q, std::shared_ptr<const state::query_result> shared);
  void reply_to(const read_query& q, read_result r);
  std::uint64_t lock_delay_left_ms(const std::string& key);
  void refuse(const read_query& q, const std::string& text);
  void publish(state::effects changed);
  void report_applied();
  void has_history(const state::history_scope& known);
  /// Publishes role and lease of this server to gateways on other threads.
  void report_standing();
  void replace(const machine_replaced& r);
  void archive(const read_query& q);
  void answer_archives(const std::string& error);
  // Long work in slices, between which other messages are handled.
  void go_on_later();
  void go_on();
  void tear_down();
  /// @returns false: the read is not a long one
  bool begin_long_read(const read_query& q);
  void read_on();
  void maintain();
  void log_autopilot();
  void start_checkpoint();
  void checkpoint_failed(const checkpoint_written& c);
  void reap_tombstones();
  cluster_time cluster_now();
  void stamp(state::command& c);
  std::uint64_t ms_since_leader();

  node_actors_ptr node_actors_;
  fsm_settings settings_;
  std::shared_ptr<state::machine> machine_;
  coordinates::table_ptr coordinates_; ///< as passed to the machine; null: none
  state::history_scope history_;       ///< as passed to the machine
  raft::snapshot_meta applied_;
  monotonic_time applied_at_; ///< when the last entry was applied
  std::shared_ptr<vitals> vitals_;
  metrics& metrics_;

  cluster_view view_;
  monotonic_time lease_until_{};

  read_group gathering_default_, gathering_consistent_;
  bool flush_scheduled_ = false;
  std::uint64_t next_barrier_ = 1;
  std::unordered_map<std::uint64_t, read_group> at_barrier_;
  std::multimap<log_index, read_group> until_applied_;
  std::unordered_set<request_id> cancelled_; ///< since the last tick; none of these is answered
  std::vector<read_query> ahead_;            ///< stale reads as in read_group::ahead, while there is no leader
  std::unordered_map<request_id, read_query> parked_;
  std::set<cluster_time> ends_of_tokens_; ///< expiry times of tokens with waiting queries, in the future

  acquires_underway underway_;

  std::vector<write_result> own_until_first_node_;
  forwarded_results forwarded_until_first_node_;
  std::optional<monotonic_time> first_node_due_; ///< responses wait no longer than this

  struct kept_answer {
    origin to;
    state::reply reply;
    log_index index;
    monotonic_time due; ///< latest time of the response
  };
  std::vector<kept_answer> until_mended_; ///< responses to restores

  /// Reads that wait for the first acl_initialize, and their deadlines.
  std::vector<std::pair<read_query, monotonic_time>> until_access_;
  term_id access_ready_in_;          ///< the term in which this node found the initial rows of ACLs
  monotonic_time next_initialize_{}; ///< earliest next proposal

  struct long_reading {
    state::query requested;
    log_index at; ///< applied index when it began
    std::unique_ptr<state::long_read> read;
    std::vector<read_query> waiting;
  };
  static constexpr std::size_t indexes_max = 8;
  std::vector<std::pair<state::query, log_index>> indexes_; ///< newest indexes of queries, oldest first
  log_index indexes_at_;                                    ///< applied index at which they were computed

  static constexpr std::size_t reads_at_once = 4;
  std::list<long_reading> long_reads_;            ///< the next one to continue comes first
  std::deque<queries_touched> woken_;             ///< not evaluated again yet
  std::vector<request_id> to_reauthorize_;        ///< parked when permissions changed, and not authorized since
  bool goes_on_ = false;                          ///< the next slice is scheduled
  std::multimap<log_index, read_query> archives_; ///< waiting for a checkpoint of that index or a later one
  bool checkpoint_running_ = false;
  bool full_checkpoint_due_ = false;
  bool all_changes_due_ = false; ///< those passed to the checkpointer last are not on the disk
  log_index checkpointed_;
  std::optional<log_index> autopilot_logged_; ///< index of the settings sent to raft_peer
  term_id autopilot_written_in_;              ///< term in which the configured settings were written
  checkpoint_schedule checkpoints_{settings_.checkpoints};
  bool checkpoint_failed_ = false;   ///< the last one failed: it is retried after the pause
  monotonic_time next_checkpoint_{}; ///< earliest time of the next one; set when one failed
  /// After a failure the next checkpoint writes every row, so it is delayed.
  static constexpr std::chrono::seconds checkpoint_retry_min{10}, checkpoint_retry_max{600};
  std::chrono::seconds checkpoint_retry_ = checkpoint_retry_min;

  static constexpr auto never_caught_up = "this server is behind the leader and does not catch up; use another server";

  /// A status 500 after which clients retry.
  static constexpr auto access_not_ready =
      "ACLs are not active yet: the leader activates them when all servers run a version that supports them";

  /// While leading: the newest tombstone index, by the time it was observed.
  std::map<monotonic_time, log_index> tombstone_bins_;
};

} // namespace belay::actors
