#include "sim/checkers/observer.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

namespace belay::sim {

namespace {

/// Every row must have a reason to exist, and none may be missing.
broken compare_outcomes(const outcomes_model& model, log_index at, const state::machine& m) {
  const auto right = model.count_at(at), there = m.outcomes_counted().count;
  if (right == there)
    return std::nullopt;
  return "at index " + to_string(at) + " a server keeps " + std::to_string(there) +
         " outcomes; expected: " + std::to_string(right);
}

// Rules about whole logs are expensive: the interval, in messages of Raft peers.
constexpr std::uint64_t whole_log_every = 64;
constexpr std::uint64_t compare_every = 4096;
// A request is queued for at most 7 s and forwarded again at every tick of 25 ms. Its clock may run
// 1.6 times too fast.
constexpr std::uint32_t forwarded_max = 500;
// A follower that lost or could not store its part requests it at most once per tick of 25 ms.
constexpr std::uint32_t same_chunk_max = 12;
constexpr std::chrono::milliseconds same_chunk_within{250};

const char* role_words(raft::role r) {
  constexpr const char* names[] = {"follower", "pre-candidate", "candidate", "LEADER"};
  return names[static_cast<std::size_t>(r)];
}

} // namespace

observer::observer(schedule& time, event_trace& trace, cluster& nodes, reply_checker& replies, watch_checker& watches,
                   session_checker& sessions, lock_delay_checker& delays, claims_checker& claims, wait_checker& waits,
                   paused_clocks& clocks, floor_checker& floors, bool lease_is_safe, bool quiet)
    : time_(time), trace_(trace), nodes_(nodes), replies_(replies), watches_(watches), sessions_(sessions),
      delays_(delays), claims_(claims), waits_(waits), clocks_(clocks), floors_(floors), costs_(quiet),
      seen_(nodes.size()), lease_is_safe_(lease_is_safe) {}

void observer::complain(const char* checker, const std::string& text) {
  if (complaint_)
    return;
  complaint_.emplace(checker, text);
  trace_.line(time_.now(), no_node, std::string("BROKEN (") + checker + "): " + text);
}

void observer::before(const enlisted& who, const caf::type_erased_tuple& message) {
  if ((who.kind == actor_kind::fsm || who.kind == actor_kind::checkpoints) && !nodes_.is_agent(who.node))
    complain("changes", floors_.look(who.node));
  if (who.kind == actor_kind::checkpoints && message.match_element<actors::write_checkpoint>(0))
    floors_.writes(who.node, message.get_as<actors::write_checkpoint>(0));
  else if (who.kind == actor_kind::fsm && message.match_element<actors::committed_entries>(0))
    take_committed(who.node, message.get_as<actors::committed_entries>(0));
  else if (who.kind == actor_kind::watches && message.match_element<actors::park_query>(0) && parked)
    parked(who.node, message.get_as<actors::park_query>(0).id);
  else if (who.kind == actor_kind::links && message.match_element<actors::send_frames>(0))
    look_at_frames(who.node, message.get_as<actors::send_frames>(0));
  else if (who.kind == actor_kind::checkpoints && message.match_element<actors::load_snapshot_chunk>(0))
    chunk_read(who.node, message.get_as<actors::load_snapshot_chunk>(0).what);
  else if (who.kind == actor_kind::log && message.match_element<actors::write_log>(0))
    look_at_written(who.node, message.get_as<actors::write_log>(0));
  else if (who.kind == actor_kind::raft_peer && message.match_element<actors::barrier_request>(0))
    barrier_requested(who.node, message.get_as<actors::barrier_request>(0));
  else if (who.kind == actor_kind::fsm && message.match_element<actors::barrier_result>(0))
    barrier_answered(who.node, message.get_as<actors::barrier_result>(0));
}

// A barrier must cover everything that was committed anywhere when it was requested.
void observer::barrier_requested(std::size_t node, const actors::barrier_request& b) {
  if (!b.lease_ok || lease_is_safe_)
    barriers_[{node, nodes_.life(node), b.id}] = {rules_.committed(), time_.now(), b.lease_ok};
}

void observer::barrier_answered(std::size_t node, const actors::barrier_result& b) {
  const auto it = barriers_.find({node, nodes_.life(node), b.id});
  if (it == barriers_.end())
    return;
  const auto& requested = it->second;
  if (b.ok && b.index < requested.committed &&
      !(requested.lease_ok && clocks_.lease_in_doubt_between(requested.requested, time_.now())))
    complain("barriers", "node " + std::to_string(node) + " may read at index " + to_string(b.index) +
                             ", but at its request " + to_string(requested.committed) + " was committed");
  barriers_.erase(it);
}

// No server may become the leader while another may still answer from its lease. A leader of an
// earlier term may (votes that arrive late), because it commits nothing more.
void observer::check_leases(std::size_t new_leader) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (i != new_leader && nodes_.has_lease(i) && !clocks_.lease_in_doubt(i, time_.now()) &&
        nodes_.core(i)->term() < nodes_.core(new_leader)->term())
      complain("leases", "node " + std::to_string(new_leader) + " became the leader while node " + std::to_string(i) +
                             " had a lease");
}

void observer::look_at_frames(std::size_t node, const actors::send_frames& frames) {
  for (const auto& [to, frame] : frames.list)
    if (const auto* call = std::get_if<wire::forward_call>(&frame)) {
      if (++forwarded_[{node, nodes_.life(node), call->id}] == forwarded_max)
        complain("forwarding", "request " + to_string(call->id) + " of node " + std::to_string(node) +
                                   " was forwarded " + std::to_string(forwarded_max) + " times");
    } else if (const auto* message = std::get_if<raft::message>(&frame);
               message != nullptr && nodes_.core(node) != nullptr) {
      costs_.sent(*message);
      complain("raft invariants", rules_.sent(*nodes_.core(node), *message));
    }
}

// A repeated read before the response only makes a slow disk slower.
void observer::chunk_read(std::size_t node, const raft::snapshot_read& what) {
  if (reads_chunk)
    reads_chunk(node);
  auto& read = chunk_reads_[{node, nodes_.life(node), what.to}];
  if (read.what.index != what.index || read.what.offset != what.offset || time_.now() - read.since > same_chunk_within)
    read = {what, time_.now(), 0};
  if (++read.times == same_chunk_max)
    complain("snapshots", "node " + std::to_string(node) + " read the part of its snapshot at byte " +
                              std::to_string(what.offset) + " " + std::to_string(same_chunk_max) +
                              " times for server " + to_string(what.to));
}

/// Only counts reapings of tombstones past the default TTL; the models check what clients see of
/// them.
void observer::note_reaped(const raft::entry& e) const {
  constexpr std::uint64_t default_ttl_ms = 900'000;
  const auto command = e.kind == raft::entry_kind::command ? wire::decode_command(*e.data) : std::nullopt;
  const auto* reap = command ? std::get_if<state::tombstone_reap>(&*command) : nullptr;
  if (reap != nullptr && !reap->up_to.is_zero() && reap->up_to < e.index &&
      e.time.value - committed_[reap->up_to.value - 1].time.value >= default_ttl_ms)
    PROBE("sim: tombstones of a quarter of an hour ago are reaped");
}

void observer::take_committed(std::size_t node, const actors::committed_entries& c) {
  for (const auto& e : c.entries) {
    const known_entry fact{e.term, e.time, crc32c(*e.data, static_cast<std::uint32_t>(e.kind))};
    const auto known = committed_.size();
    if (e.index.value > known + 1)
      return complain("state machines", "node " + std::to_string(node) + " is to apply entry " + to_string(e.index) +
                                            ", but no checker has seen entry " + std::to_string(known + 1) +
                                            " committed");
    if (e.index.value == known + 1) {
      committed_.push_back(fact);
      note_reaped(e);
      const auto made = made_at(e);
      check_cluster_time(e);
      const auto restores = replies_.model().restores().size();
      complain("replies", replies_.committed(e));
      if (restored && replies_.model().restores().size() > restores)
        restored(node);
      complain("sessions", sessions_.committed(e, time_.now(), made));
      complain("lock-delays", delays_.committed(e, made));
      claims_.committed(e, time_.now());
      if (committed)
        complain("idle", committed(e, made));
      continue;
    }
    const auto& before = committed_[e.index.value - 1];
    if (before.term != fact.term || before.time != fact.time || before.crc != fact.crc)
      return complain("state machines", "node " + std::to_string(node) + " is to apply entry " + to_string(e.index) +
                                            " of term " + to_string(e.term) + ", another node applied one of term " +
                                            to_string(before.term) +
                                            (before.term == fact.term ? " with other contents" : ""));
  }
}

void observer::note_appended(seen_of_node& seen, const raft::core& core) {
  if (!core.is_leader())
    return;
  if (seen.appended_in != core.term()) {
    seen.appended_in = core.term();
    seen.appended = {};
  }
  for (auto i = core.last_index(); i > seen.appended && core.term_at(i) == core.term(); i = i.prev())
    appended_.try_emplace({i, core.term()}, time_.now());
  seen.appended = core.last_index();
}

// A read replica never has a vote.
void observer::look_at_voters(std::size_t node, const raft::core& core) {
  if (!core.is_leader())
    return;
  for (const auto id : core.config().voters)
    if (const auto at = nodes_.node_of(id); at && nodes_.is_replica(*at))
      complain("replicas", "node " + std::to_string(node) + " made a voter of read replica " + std::to_string(*at));
}

// No log may get a command that a member does not support: it would stop (docs/internals/pitfalls.md R30).
void observer::look_at_written(std::size_t node, const actors::write_log& w) {
  const auto* core = nodes_.core(node);
  if (core == nullptr || !nodes_.has_older_server())
    return;
  state::feature_level least = state::own_level;
  for (const auto& m : core->config().members)
    if (const auto at = nodes_.node_of(m.id))
      least = std::min(least, nodes_.level_of(*at));
  for (const auto& batch : w.batches)
    for (const auto& e : batch.entries)
      if (const auto needs = wire::needs_of(*e.data);
          e.kind == raft::entry_kind::command && needs && needs->level > least)
        complain("levels", "entry " + to_string(e.index) + " has a command of level " + std::to_string(needs->level) +
                               ", and a member has level " + std::to_string(least));
}

std::optional<virtual_time> observer::made_at(const raft::entry& e) const {
  const auto made = appended_.find({e.index, e.term});
  return made == appended_.end() ? std::nullopt : std::optional(made->second);
}

// Cluster time counts lock delays. If it never runs faster than true time, except for the allowed
// clock rates, none is too short. That holds whatever wall clocks show and whichever server leads.
void observer::check_cluster_time(const raft::entry& e) {
  const auto made = appended_.find({e.index, e.term});
  if (made == appended_.end() || e.kind != raft::entry_kind::command)
    return; // other entries take the time of the entry before, and no delay begins or ends with them
  const stamp now{e.time, made->second};
  if (lease_is_safe_ && last_stamp_ && last_stamp_->received.value != 0 && now.received > last_stamp_->received) {
    const auto received = std::chrono::milliseconds(now.received.value - last_stamp_->received.value);
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(now.made - last_stamp_->made);
    if (received > gone + gone / 10 + std::chrono::milliseconds(2))
      complain("cluster time", "entry " + to_string(e.index) + " is stamped " + std::to_string(received.count()) +
                                   " ms after the one before, and was made " + std::to_string(gone.count()) +
                                   " ms after it: a lock-delay may be cut short");
  }
  last_stamp_ = now;
  appended_.erase(appended_.begin(), std::next(made));
}

void observer::after(const enlisted& who) {
  if (who.kind == actor_kind::raft_peer)
    look_at_raft(who.node);
  else if (who.kind == actor_kind::fsm)
    look_at_machine(who.node);
  else if (who.kind == actor_kind::checkpoints) {
    look_at_checkpoint(who.node);
    floors_.wrote(who.node);
  }
}

observer::seen_of_node& observer::seen_of(std::size_t node) {
  auto& seen = seen_[node];
  if (seen.id != nodes_.id_of(node)) {
    seen = {};
    seen.id = nodes_.id_of(node);
  }
  return seen;
}

void observer::look_at_checkpoint(std::size_t node) {
  const auto& checkpoints = *nodes_.disk(node).checkpoints();
  const auto info = nodes_.disk(node).checkpoints()->info();
  if (!info || !*info)
    return;
  auto& seen = seen_of(node);
  // checkpoint_store::commit(): after a commit that reads back wrong an older one is in force.
  const auto& counted = checkpoints.counted();
  const auto lost = counted.unproven + counted.fallen_back;
  if (counted.unproven > counted.commits_damaged && counted.bits_flipped == 0)
    complain("checkpoints", "node " + std::to_string(node) + " wrote a checkpoint after the one at " +
                                to_string((*info)->meta.index) +
                                " that reads back different, and nothing has damaged it");
  if ((*info)->meta.index < seen.checkpoint && lost == seen.checkpoints_lost)
    complain("checkpoints", "node " + std::to_string(node) + " had a checkpoint at " + to_string(seen.checkpoint) +
                                " and put an older one in its place, at " + to_string((*info)->meta.index));
  const auto* core = nodes_.core(node);
  if (seen.checkpoint.is_zero() && !(*info)->meta.index.is_zero() && core != nullptr && core->last_index().is_zero() &&
      first_snapshot)
    first_snapshot(node);
  if ((*info)->meta.index != seen.checkpoint)
    look_at_new_checkpoint(node, (*info)->meta);
  seen.checkpoint = (*info)->meta.index;
  seen.checkpoints_lost = lost;
}

// A server that starts from it alone continues from that index, term and time. The sums kept beside
// the rows are in no digest, so a wrong one would stay wrong.
void observer::look_at_new_checkpoint(std::size_t node, const raft::snapshot_meta& meta) {
  if (meta.index.value != 0 && meta.index.value <= committed_.size()) {
    const auto& e = committed_[meta.index.value - 1];
    if (e.term != meta.term || e.time != meta.time)
      complain("checkpoints", "node " + std::to_string(node) + " has a checkpoint at " + to_string(meta.index) +
                                  " of term " + to_string(meta.term) + " and time " + std::to_string(meta.time.value) +
                                  "; expected: term " + to_string(e.term) + " and time " +
                                  std::to_string(e.time.value));
  }
  recount(node);
}

void observer::recount(std::size_t node) {
  if (const auto* machine = nodes_.machine(node))
    if (const auto wrong = machine->recount())
      complain("recount",
               "node " + std::to_string(node) + " at index " + to_string(machine->applied_index()) + ": " + *wrong);
}

/// Checks a node's Raft core after each message: its steps and those of all nodes against the
/// invariants, and what its role and its messages cost. The expensive comparisons run only on every
/// n-th call.
void observer::look_at_raft(std::size_t node) {
  const auto* core = nodes_.core(node);
  if (core == nullptr)
    return;
  auto& seen = seen_of(node);
  if (seen.life != nodes_.life(node)) {
    seen.steps.forget();
    seen.voted_for = {};
    seen.soft = {};
    seen.applied = {};
    seen.life = nodes_.life(node);
  }
  if (seen.soft != core->soft()) {
    complain("costs", costs_.changed(seen.soft, *core));
    seen.soft = core->soft();
    if (seen.soft.role == raft::role::leader && lease_is_safe_)
      check_leases(node);
    if (seen.soft.role == raft::role::candidate && campaigns)
      campaigns(node);
    trace_.add(seen.soft.term.value << 8 ^ static_cast<std::uint64_t>(seen.soft.role) << 4 ^ node);
    if (trace_.wanted())
      trace_.line(time_.now(), node,
                  std::string("is ") + role_words(seen.soft.role) + " in term " + to_string(seen.soft.term) +
                      ", leader " + to_string(seen.soft.leader) + ", log up to " + to_string(core->last_index()) +
                      ", committed " + to_string(core->commit_index()));
  }
  if (core->is_leader())
    complain("costs", costs_.leads(*core));
  if (const auto vote = core->voted_for(); seen.voted_for != vote) {
    seen.voted_for = vote;
    if (!vote.is_zero() && vote != core->self() && votes)
      votes(node);
  }
  if (nodes_.is_replica(node) && core->soft().role != raft::role::follower)
    complain("replicas", "node " + std::to_string(node) + " is a read replica and campaigns");
  look_at_voters(node, *core);
  note_appended(seen, *core);
  complain("raft invariants", seen.steps.observe(*core));
  complain("raft invariants", rules_.observe(*core));
  ++looks_;
  if (looks_ % whole_log_every == 0)
    complain("raft invariants", raft::check_node(*core));
  if (looks_ % compare_every == 0)
    compare_logs();
}

void observer::compare_logs() {
  for (std::size_t a = 0; a < nodes_.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (nodes_.core(a) != nullptr && nodes_.core(b) != nullptr)
        complain("raft invariants", raft::cluster_check::compare(*nodes_.core(a), *nodes_.core(b)));
}

void observer::look_at_machine(std::size_t node) {
  const auto* machine = nodes_.machine(node);
  if (machine == nullptr)
    return;
  const auto applied = machine->applied_index();
  auto& seen = seen_[node];
  if (seen.life != nodes_.life(node))
    return look_at_raft(node);
  if (applied == seen.applied)
    return;
  if (applied < seen.applied)
    complain("state machines", "node " + std::to_string(node) + " had applied " + to_string(seen.applied) +
                                   " and now only " + to_string(applied));
  seen.applied = applied;
  trace_.add(machine->digest());
  if (applied.value >= digests_.size())
    digests_.resize(applied.value + 64);
  auto& [known, digest] = digests_[applied.value];
  if (known && digest != machine->digest())
    complain("digests", "node " + std::to_string(node) + " at index " + to_string(applied) +
                            " does not have the digest that another node had there");
  if (!known)
    complain("claims", claims_.applied(applied, *machine));
  if (!known)
    complain("outcomes", compare_outcomes(replies_.model().outcomes(), applied, *machine));
  known = true;
  digest = machine->digest();
  complain("watches", watches_.applied(node, nodes_.life(node), applied, time_.now()));
  complain("claims", waits_.applied(node, nodes_.life(node), applied, time_.now()));
}

void observer::on_led(std::size_t node) {
  ++elections_;
  // Servers that found each other in two groups form two clusters, each of them valid for itself.
  const auto cluster = nodes_.cluster_id(node);
  if (!cluster_ && cluster != 0)
    cluster_.emplace(cluster, node);
  if (cluster_ && cluster != 0 && cluster != cluster_->first)
    complain("clusters", "node " + std::to_string(node) + " leads another cluster than that which node " +
                             std::to_string(cluster_->second) + " led: there are two");
  sessions_.led(nodes_.view(node).soft.term, time_.now());
  claims_.led(time_.now());
  delays_.led(nodes_.view(node).soft.term);
}

void observer::on_node_gone(std::size_t node) {
  complain("watches", watches_.node_stopped(node, time_.now()));
  complain("claims", waits_.node_stopped(node, time_.now()));
  seen_[node].steps.forget();
  clocks_.goes_on(node, time_.now());
}

void observer::on_node_paused(std::size_t node) {
  if (nodes_.clock(node).stopped())
    clocks_.stops(node, time_.now());
  complain("watches", watches_.node_stopped(node, time_.now()));
  complain("claims", waits_.node_stopped(node, time_.now()));
}

void observer::on_node_resumed(std::size_t node) {
  sessions_.resumed(time_.now());
  clocks_.goes_on(node, time_.now());
  complain("watches", watches_.node_resumed(node, time_.now()));
  complain("claims", waits_.node_resumed(node, time_.now()));
}

void observer::finish() {
  compare_logs();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (const auto* core = nodes_.core(i))
      complain("raft invariants", raft::check_node(*core));
    if (const auto* machine = nodes_.machine(i))
      if (machine->digest() != machine->recompute_digest())
        complain("digests", "node " + std::to_string(i) + ": the digest kept and the digest of the rows differ");
    recount(i);
  }
}

} // namespace belay::sim
