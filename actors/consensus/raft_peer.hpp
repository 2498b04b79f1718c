#pragma once
// Owns this node's Raft core: feeds it messages, ticks and confirmed writes, and carries out what it returns.

#include "actors/consensus/held_requests.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/request_ids.hpp"
#include "actors/surroundings.hpp"
#include "actors/telemetry/metrics.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/raft/formation.hpp"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

namespace belay::actors {

struct raft_peer_settings {
  raft::limits limits;
  std::chrono::milliseconds hold{7000}; ///< how long a request waits for a leader (performance.rpc_hold_timeout)
  std::uint64_t trailing_entries =
      10240; ///< kept behind a checkpoint for followers that are a little behind (raft_trailing_logs)
  /// A member that was not heard for so long counts as dead (serfHealth); Consul's gossip takes about as long in a small
  /// cluster. Far more than an election, since sessions end by it.
  std::chrono::milliseconds member_silence{5000};
  std::uint64_t seed = 1;
  std::vector<std::string> join;            ///< host:port of peers to dial (retry_join)
  std::function<cluster_time()> wall_clock; ///< milliseconds since 1970
  std::function<void(std::uint64_t cluster_id)>
      joined; ///< make it durable that this data directory belongs to that cluster
};

/// Everything that happens in one turn of the mailbox shares one `ready`: one log write, one append per follower, one read round.
/// Lives on the thread of the peer links.
class raft_peer : public hosted<raft_peer_actor::base> {
public:
  raft_peer(caf::actor_config& config, actor_host* host, wiring_ptr wires, raft_peer_settings settings,
            raft::member self, raft::formation formation, raft::restored_state restored, std::shared_ptr<vitals> v,
            metrics& m);

  behavior_type make_behavior() override;

  /// For checks between two messages, on the thread of this actor.
  const raft::core& core() const { return core_; }

private:
  // raft_peer.cpp: turns
  monotonic_time now() { return now_of(*this, *wires_); }
  raft::local_time local_now() { return now().time_since_epoch(); }
  bool leading() const { return core_.is_leader(); }
  void schedule_flush();
  void flush();
  void carry_out(raft::ready r);
  void write_next_batches();
  void on_log_written(const log_written& w);
  void on_tick();
  void queue_frame(node_id to, wire::frame f) { outbox_.list.emplace_back(to, std::move(f)); }
  void send_outbox();
  void publish_view();
  void extend_lease();
  void answer_status(const status_request& s);

  // raft_peer_writes.cpp: proposals, forwarding, renewals
  void hold_write(held_write w);
  void propose_held();
  void propose_here(std::vector<held_write> batch);
  void forward_held(node_id leader);
  void answer(const origin& to, wire::call_outcome outcome, const std::string& text);
  /// For one of this node's own gateways.
  void answer_here(write_result r);
  void answer_committed();
  void send_answers();
  void expire_writes();
  void ask_again();
  void writes_unknown_from(log_index first);
  void forwarded_unknown(node_id to, const std::string& text);
  void take_origins(const std::vector<raft::entry>& committed, std::vector<origin>& origins);
  void on_forward_call(node_id from, const wire::forward_call& c);
  void on_forward_reply(node_id from, const wire::forward_reply& r);
  void on_renew_answer(const renew_answer& a);

  // raft_peer_operators.cpp: what operators ask of the leader
  void answer_decided(const origin& to, state::reply reply);
  void begin_removal(held_write w);
  void follow_removals();
  std::string health_json(const std::string& rules) const;

  // raft_peer_reads.cpp: barriers
  void request_barrier(held_barrier b);
  void try_barriers();
  void on_reads(const raft::ready& r);
  void barrier_done(const held_barrier& b, log_index index);
  void on_read_index(node_id from, const wire::read_index& q);
  void on_read_index_reply(const wire::read_index_reply& r);
  void expire_barriers();
  void retry_barriers_at(node_id leader);

  // raft_peer_members.cpp: who belongs to the cluster, snapshots
  void on_frames(const frames_received& f);
  void on_hello(const wire::hello& h);
  void announce_self();
  void form_cluster();
  void bring_in_newcomers();
  void dial();
  void tell_members_heard();

  wiring_ptr wires_;
  raft_peer_settings settings_;
  raft::member self_;
  raft::formation formation_;
  raft::core core_;
  std::shared_ptr<vitals> vitals_;
  metrics& metrics_;
  log_index checkpointed_;
  term_id checkpoint_term_;

  bool started_ = false;
  bool flush_scheduled_ = false;
  bool spread_scheduled_ = false;
  send_frames outbox_;
  std::vector<raft::persist_batch> unwritten_;
  bool writing_ = false;
  bool disk_full_ = false;
  monotonic_time retry_disk_at_{};
  std::vector<raft::persist_batch> in_flight_; ///< kept to be sent again when the disk was full
  raft::soft_state soft_;
  bool serving_ = false;
  bool handing_over_ = false; ///< the fsm was asked to give up the lease
  monotonic_time lease_sent_{};
  std::set<node_id> connected_;
  std::map<node_id, std::string> complaints_; ///< said once each
  members_heard told_heard_;
  std::map<node_id, std::uint64_t> connected_since_ms_; ///< by the wall clock, as far as it is known
  std::uint64_t led_since_ms_ = 0;

  struct removal {
    held_write write;
    bool begun = false; ///< proposed
    log_index entry;    ///< the first half of it, if begun
  };
  std::vector<removal> removals_;

  held_writes held_;
  held_writes asked_in_vain_;  ///< whom we took for the leader does not lead: next tick, or when a leader is known
  std::deque<origin> origins_; ///< of entries proposed here, from origins_first_ on
  log_index origins_first_;
  std::unordered_map<request_id, forwarded_write> forwarded_;
  std::multimap<log_index, write_result> until_committed_; ///< forwarded writes that are done, but not here yet
  std::vector<write_results> answers_;                     ///< by gateway

  std::vector<held_barrier> barriers_waiting_, barriers_asked_in_vain_;
  std::unordered_map<std::uint64_t, held_barrier> barriers_asked_; ///< by the fresh id of the attempt
  fresh_numbers read_ids_;
};

} // namespace belay::actors
