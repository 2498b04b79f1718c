#include "actors/tables/fsm.hpp"

#include "actors/freed_elsewhere.hpp"
#include "actors/tables/decoded_ahead.hpp"
#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds fsm_tick{250};
// Results with this many rows are read once for all equal queries that wake together;
// the second number is how many different results are kept.
constexpr std::size_t rows_worth_sharing = 64, long_ones_max = 8;
// Woken queries that are evaluated before other work: about 2 ms.
constexpr std::size_t woken_in_a_slice = 1024;

template <class Query>
concept names_prefix = requires(const Query& q) {
  q.prefix;
};

} // namespace

fsm::fsm(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, fsm_settings settings,
         std::shared_ptr<state::machine> machine, raft::snapshot_meta applied, std::shared_ptr<vitals> v, metrics& m)
    : hosted(config, host), node_actors_(std::move(node_actors)), settings_(settings), machine_(std::move(machine)),
      applied_(std::move(applied)), vitals_(std::move(v)), metrics_(m), checkpointed_(applied_.index) {
  end_node_by_exceptions_of(*this, node_actors_, "fsm");
  gathering_default_.lease_ok = true;
  machine_->keep_changes(settings_.changes_bytes_max);
  machine_->tear_down_at_once(settings_.torn_down_at_once);
  applied_at_ = now();
  if (settings_.shared)
    settings_.shared->show(machine_);
  report_applied(); // a log that ends at the checkpoint brings no entries to apply
}

fsm_actor::behavior_type fsm::make_behavior() {
  return {
      [this](const committed_entries& c) { apply(c); },
      [this](check_write& w) { check(std::move(w)); },
      [this](const read_query& q) { read(q); },
      [this](const cancel_query& c) { cancel(c.id); },
      [this](const end_wait& w) { end_wait_of(w.id); },
      [this](const barrier_result& b) { on_barrier(b); },
      [this](const lease_extended& l) {
        lease_until_ = l.until;
        report_standing();
        send(node_actors_->session_reaper, l);
      },
      [this](const renew_session& r) { send(node_actors_->session_reaper, r); },
      [this](const renew_request& r) { send(node_actors_->session_reaper, r); },
      [this](const give_up_lease& g) {
        lease_until_ = {};
        if (settings_.shared && !MUTANT(threads_keep_lease_in_transfer))
          report_standing();
        send(node_actors_->session_reaper, g);
      },
      [this](const coordinates_known& c) {
        coordinates_ = c.table;
        {
          const shared_tables::writing writes(settings_.shared.get());
          machine_->set_coordinates(coordinates_);
        }
        publish({state::coordinates_changed{}});
      },
      [this](const cluster_view& v) {
        view_ = v;
        has_history(v.history);
        if (!v.serving) {
          answer_restores(true); // the next leader corrects the catalog
          lease_until_ = {};
          tombstone_bins_.clear();
          ask_again(underway_.all());
        }
        report_standing();
        send(node_actors_->session_reaper, v);
        send(node_actors_->lock_delay_tracker, v);
        notify_alarm();
        initialize_access();
      },
      [this](queries_touched& t) {
        woken_.push_back(std::move(t));
        if (woken_.size() == 1)
          look_at_woken();
      },
      [this](const checkpoint_written& c) {
        INVARIANT(checkpoint_running_);
        INVARIANT(c.meta.index <= applied_.index);
        checkpoint_running_ = false;
        all_changes_due_ = all_changes_due_ || !c.changes_kept;
        if (c.error.empty()) {
          checkpointed_ = std::max(checkpointed_, c.meta.index);
          checkpoint_retry_ = checkpoint_retry_min;
        } else {
          checkpoint_failed(c);
        }
        answer_archives(c.error);
      },
      [this](const catalog_mended& c) {
        if (c.restored_at == machine_->restored_at())
          answer_restores(true);
      },
      [this](const machine_replaced& r) { replace(r); },
      [this](tick_atom) {
        maintain();
        log_autopilot();
        initialize_access();
        drop_cancelled();
        give_up_waiting();
        look_at_ahead();
        answer_applied({}, {});
        answer_restores(false);
        ask_again(underway_.timed_out(now()));
        reauthorize_when_a_token_ends();
        wake_after(*this, *node_actors_, together(*this, fsm_tick, tick_slack), tick_atom::value);
      },
      [this](flush_atom) { request_barriers(); },
      [this](go_on_atom) { go_on(); },
      [this](stop_atom) { quit(); },
  };
}

// ---- writes

/// Applies entries to the tables while no other thread reads them. Then it sends the results to the
/// servers that proposed them, publishes what has changed, and serves reads that waited for these
/// entries.
void fsm::apply(const committed_entries& c) {
  PRECONDITION(c.origins.empty() || c.origins.size() == c.entries.size());
  const auto arrived = now();
  state::effects changed;
  std::vector<write_result> own;
  forwarded_results forwarded;
  std::vector<std::string> acquired;
  std::optional<shared_tables::writing> writes(settings_.shared.get());
  decoded_ahead commands(c.entries, *machine_);
  for (std::size_t i = 0; i < c.entries.size(); ++i) {
    const auto& e = c.entries[i];
    if (e.index <= applied_.index) { // an installed snapshot already includes it (docs/internals/pitfalls.md R14)
      PROBE("fsm: entry below an installed snapshot skipped");
      if (!c.origins.empty() && !c.origins[i].id.is_zero()) // done, but its result is lost
        respond_unknown(c.origins[i], own, forwarded);
      continue;
    }
    INVARIANT(e.index == applied_.index.next());
    state::reply reply;
    if (e.kind == raft::entry_kind::command) {
      reply = apply_command(e, commands.of(i), changed, acquired);
    } else {
      machine_->skip(e.index, e.time, changed);
      if (e.kind == raft::entry_kind::configuration) {
        auto config = raft::decode_configuration(*e.data);
        INVARIANT(config.has_value()); // raft's core has checked it
        applied_.config = std::move(*config);
      }
    }
    INVARIANT(machine_->applied_index() == e.index);
    applied_.index = e.index;
    applied_.term = e.term;
    applied_.time = e.time;
    applied_at_ = arrived;
    checkpoints_.applied(e.data->size());
    if (c.origins.empty() || c.origins[i].id.is_zero())
      continue;
    const auto& from = c.origins[i];
    if (machine_->restored_at() == e.index && keep_restore_answer(from, reply, e.index))
      continue;
    if (from.node == view_.self)
      own.push_back({from.id, wire::call_outcome::done, std::move(reply), e.index, {}});
    else
      forwarded.list.emplace_back(
          from.node, wire::forward_reply{from.id, wire::call_outcome::done, e.index, wire::encode_reply(reply)});
  }
  writes.reset();
  checkpoints_.took(now() - arrived);
  report_applied();
  answer_applied(std::move(own), std::move(forwarded));
  if (!changed.empty())
    publish(std::move(changed));
  if (const auto next = machine_->next_alarm(); next && *next <= machine_->now())
    notify_alarm(); // an entry ends a limited number of due items
  for (const auto& key : acquired)
    ask_again(underway_.applied(key));
  go_on_later();
  serve_waiting();
}

/// Sends the results of applied writes. In a new cluster they are delayed until its first node is
/// in the catalog, for at most first_node_wait. Delayed results are sent first.
void fsm::answer_applied(std::vector<write_result> own, forwarded_results forwarded) {
  auto& own_waits = own_until_first_node_;
  auto& forwarded_waits = forwarded_until_first_node_.list;
  const bool goes_on = (!own.empty() || !forwarded.list.empty() || first_node_due_) && waits_for_first_node();
  if (goes_on || !own_waits.empty() || !forwarded_waits.empty()) {
    std::move(own.begin(), own.end(), std::back_inserter(own_waits));
    std::move(forwarded.list.begin(), forwarded.list.end(), std::back_inserter(forwarded_waits));
    if (goes_on)
      return;
    own = std::exchange(own_waits, {});
    forwarded.list = std::exchange(forwarded_waits, {});
  }
  answer_writes(own);
  if (!forwarded.list.empty())
    send(node_actors_->raft_peer, std::move(forwarded));
}

bool fsm::waits_for_first_node() {
  if (settings_.first_node_wait.count() == 0 || machine_->has_nodes())
    return false;
  if (!first_node_due_)
    first_node_due_ = now() + settings_.first_node_wait;
  return now() < *first_node_due_;
}

void fsm::notify_alarm() {
  if (machine_->has_claims())
    send(node_actors_->lock_delay_tracker,
         publish_effects{{state::claims_alarm_moved{machine_->next_alarm().value_or(cluster_time{})}}});
}

void fsm::respond_unknown(const origin& who, std::vector<write_result>& own, forwarded_results& forwarded) const {
  if (who.node == view_.self)
    own.push_back({who.id, wire::call_outcome::unknown, {}, {}, forward::leadership_lost});
  else
    forwarded.list.emplace_back(who.node,
                                wire::forward_reply{who.id, wire::call_outcome::unknown, {}, forward::leadership_lost});
}

state::reply fsm::apply_command(const raft::entry& e, const std::optional<state::command>& command,
                                state::effects& changed, std::vector<std::string>& acquired) {
  if (!command) {
    // Skipping it would make the servers differ: an older version must not guess newer commands.
    const auto needs = wire::needs_of(*e.data);
    const bool newer = needs && needs->level > state::own_level;
    log::error(
        "fsm", "committed entry not readable by this version; stopping",
        {{"index", e.index.value},
         {"term", e.term.value},
         {"error", newer ? wire::too_new(*needs, "this server") : std::string("it is damaged, or of an unknown kind")},
         {"advice", newer ? "install Belay " + needs->version + " or newer on this server; its data can stay"
                          : std::string("install the version of the other servers")}});
    stop_for_good(*node_actors_);
  }
  if (const auto* key = underway_.empty() ? nullptr : key_of_acquire(*command))
    acquired.push_back(*key);
  const bool may_restore = std::holds_alternative<state::restore_commit>(*command);
  const auto accessor = may_restore ? accessor_of(*command) : std::string(); // its row may be gone afterwards
  auto reply = machine_->apply(e.index, e.time, *command, changed);
  if (may_restore && machine_->restored_at() == e.index)
    on_restored(e, accessor);
  if (const auto* claim = std::get_if<state::claim_answer>(&reply); claim != nullptr && claim->search_cut)
    metrics_.deadlock_search_cut();
  if (!reply.decided_at.is_zero() && command->once)
    metrics_.outcome_replayed();
  return reply;
}

void fsm::check(check_write w) {
  const bool first = std::holds_alternative<state::acl_bootstrap>(w.command); // requested without a token
  if (!can_authorize(w.command.by) || (first && !machine_->has_access_rows()))
    return refuse(w, access_not_ready);
  stamp(w.command);
  authorize(std::move(w), false);
}

/// Stamps a time that is not later than cluster time. Only the leader knows cluster time exactly;
/// the other servers use the time of the last entry. After minutes without writes that is too old:
/// the command is rejected, its own entry carries a newer time, and the gateway retries.
void fsm::stamp(state::command& c) {
  auto* seal = std::get_if<state::outcome_seal>(&c);
  if (!c.once && seal == nullptr)
    return;
  auto& requested = seal != nullptr ? seal->requested : c.once->requested;
  requested = std::max(requested, serves_under_lease() ? cluster_now() : machine_->now());
}

void fsm::authorize(check_write w, bool caught_up) {
  auto refused = machine_->refuses(w.command, cluster_now());
  // Other servers, and a deposed leader unaware of it, have old tables: they catch up first. In
  // old tables a tree that all servers would read is small, too.
  if ((refused || machine_->reads_trees(w.command)) && !caught_up && !serves_under_lease()) {
    PROBE("fsm: write judged again when all was applied");
    gathering_default_.writes.push_back(std::move(w));
    return plan_barriers();
  }
  if (refused)
    return answer_write({w.id, wire::call_outcome::done, std::move(*refused), {}, {}});
  if (w.command.by && !w.command.once) // with a known outcome no permission was checked
    w.command.authorized_at = machine_->applied_index();
  pass_on(w);
}

void fsm::pass_on(const check_write& w) {
  if (auto refused = pass_on_or_refuse(w))
    answer_write(std::move(*refused));
}

void fsm::ask_again(const std::vector<check_write>& kept) {
  std::vector<write_result> refused;
  for (const auto& w : kept)
    if (auto r = pass_on_or_refuse(w))
      refused.push_back(std::move(*r));
  answer_writes(refused);
}

std::optional<write_result> fsm::pass_on_or_refuse(const check_write& w) {
  // Only the leader knows cluster time well enough to reject for a lock delay; elsewhere each delay
  // is over, and apply() decides. For restores, which take seconds, every server knows it well
  // enough, and apply() does not decide. A deposed leader rejects nothing on behalf of a token.
  const bool leads = w.command.by ? serves_under_lease() : view_.serving;
  const bool by_time = leads || std::holds_alternative<state::restore_begin>(w.command);
  const bool newest = serves_under_lease();
  auto refused = machine_->refuse_early(w.command, by_time ? cluster_now() : state::machine::unknown_time, newest);
  if (refused)
    return write_result{w.id, wire::call_outcome::done, std::move(*refused), {}, {}};
  if (newest && key_of_acquire(w.command) != nullptr && underway_.keep(w, now()))
    PROBE("fsm: acquire kept while another one of its key is on its way");
  else
    send(node_actors_->raft_peer, propose_write{w.id, make_payload(wire::encode_command(w.command))});
  return std::nullopt;
}

void fsm::refuse(const check_write& w, const std::string& text) {
  answer_write({w.id, wire::call_outcome::refused, {}, {}, text});
}

bool fsm::serves_under_lease() {
  return view_.serving && now() < lease_until_;
}

void fsm::answer_write(write_result result) {
  if (gateway_of(result.id) < node_actors_->gateways.size())
    send(node_actors_->gateways[gateway_of(result.id)], write_results{{std::move(result)}});
}

void fsm::answer_writes(std::vector<write_result>& results) {
  const auto is_held = [](const write_result& r) {
    const auto* claim = std::get_if<state::claim_answer>(&r.reply);
    return claim != nullptr && claim->state == state::claim_state::held;
  };
  if (view_.serving &&
      std::any_of(results.begin(), results.end(), is_held)) { // the leader adds the remaining time of the holder
    write_results held;
    const auto others = std::stable_partition(results.begin(), results.end(), is_held);
    held.list.assign(std::make_move_iterator(results.begin()), std::make_move_iterator(others));
    results.erase(results.begin(), others);
    send(node_actors_->session_reaper, std::move(held));
  }
  if (results.empty())
    return;
  if (node_actors_->gateways.size() == 1) {
    send(node_actors_->gateways.front(), write_results{std::move(results)});
    return;
  }
  std::vector<write_results> by_gateway(node_actors_->gateways.size());
  for (auto& r : results)
    if (gateway_of(r.id) < by_gateway.size())
      by_gateway[gateway_of(r.id)].list.push_back(std::move(r));
  for (std::size_t g = 0; g < by_gateway.size(); ++g)
    if (!by_gateway[g].list.empty())
      send(node_actors_->gateways[g], std::move(by_gateway[g]));
}

void fsm::publish(state::effects changed) {
  bool of_sessions = false, of_everything = false, of_access = false, of_alarm = false;
  for (const auto& e : changed) {
    const bool all = std::holds_alternative<state::everything_changed>(e);
    of_everything = of_everything || all;
    of_sessions = of_sessions || all || std::holds_alternative<state::session_changed>(e);
    of_access = of_access || all || std::holds_alternative<state::access_changed>(e);
    of_alarm = of_alarm || all || std::holds_alternative<state::claims_alarm_moved>(e);
    if (all) // tombstones came back; the old bins are meaningless now
      tombstone_bins_.clear();
  }
  if (of_sessions)
    send(node_actors_->session_reaper, publish_effects{changed});
  if (of_everything)
    access_ready_in_ = {}; // the restore brought other tokens
  if (of_access && !MUTANT(waiting_reader_not_judged_again))
    reauthorize_parked();
  if (of_access)
    initialize_access(); // it may exist now; what is removed from then on stays removed
  if (of_everything)
    send(node_actors_->lock_delay_tracker, publish_effects{{state::everything_changed{}}});
  if (of_alarm)
    notify_alarm();
  send(node_actors_->watch_registry, publish_effects{std::move(changed), applied_.index});
}

// ---- reads

void fsm::read(const read_query& q) {
  const auto mode = q.request.mode;
  const auto received_from_leader = vitals_->leader_contact_ns.load(std::memory_order_relaxed) != 0 || view_.serving;
  if (may_read_at_once(mode, lease_until_, now(), received_from_leader))
    return serve(q);
  auto& group = mode == http::consistency::consistent ? gathering_consistent_ : gathering_default_;
  group.queries.push_back(q);
  plan_barriers();
}

void fsm::plan_barriers() {
  if (!flush_scheduled_) {
    flush_scheduled_ = true;
    send(this, flush_atom::value);
  }
}

void fsm::cancel(request_id id) {
  if (parked_.erase(id) != 0) {
    send(node_actors_->watch_registry, unpark_query{id});
    return;
  }
  std::erase_if(archives_, [id](const auto& each) { return each.second.id == id; });
  std::erase_if(long_reads_, [this, id](auto& each) {
    std::erase_if(each.waiting, [id](const read_query& q) { return q.id == id; });
    if (!each.waiting.empty())
      return false;
    send(node_actors_->checkpointer, free_memory{{std::shared_ptr<const void>(std::move(each.read))}});
    return true;
  });
  cancelled_.insert(id);
}

/// Called on every tick: thousands of clients may give up while there is no leader, and a search
/// for each among all that wait would take seconds.
void fsm::drop_cancelled() {
  if (cancelled_.empty())
    return;
  const auto drop = [this](std::vector<read_query>& queries) {
    std::erase_if(queries, [this](const read_query& q) { return cancelled_.contains(q.id); });
  };
  drop(gathering_default_.queries);
  drop(gathering_consistent_.queries);
  drop(gathering_consistent_.ahead);
  drop(ahead_);
  for (auto& [barrier, group] : at_barrier_) {
    drop(group.queries);
    drop(group.ahead);
  }
  for (auto& [index, group] : until_applied_)
    drop(group.queries);
  std::erase_if(until_access_, [this](const auto& each) { return cancelled_.contains(each.first.id); });
  cancelled_.clear();
}

/// A query that waits for a change is answered as at its deadline. One that waits for a barrier
/// gets its own, which fails without a leader; the rest of its group keeps waiting. A read that
/// waits for an entry to be applied, or a checkpoint, continues. All else is a call of raft_peer.
void fsm::end_wait_of(request_id id) {
  if (auto parked = parked_.extract(id)) {
    PROBE("fsm: wait ended with the input of its client");
    send(node_actors_->watch_registry, unpark_query{id});
    parked.mapped().deadline = now();
    return serve(parked.mapped());
  }
  const auto waits_for_access =
      std::find_if(until_access_.begin(), until_access_.end(), [id](const auto& each) { return each.first.id == id; });
  if (waits_for_access != until_access_.end()) {
    refuse(waits_for_access->first, access_not_ready);
    until_access_.erase(waits_for_access);
    return;
  }
  const auto hurry = [&](read_group& group) {
    const auto it =
        std::find_if(group.queries.begin(), group.queries.end(), [id](const auto& q) { return q.id == id; });
    if (it == group.queries.end())
      return false;
    it->deadline = now();
    if (group.waits) {
      read_group own;
      own.lease_ok = group.lease_ok;
      own.waits = false;
      own.queries.push_back(std::move(*it));
      group.queries.erase(it);
      request_barrier(own);
    }
    return true;
  };
  for (auto& [barrier, group] : at_barrier_)
    if (hurry(group)) // hurry() may have changed the map
      return;
  if (hurry(gathering_default_) || hurry(gathering_consistent_))
    return;
  for (auto& [index, group] : until_applied_)
    for (auto& q : group.queries)
      if (q.id == id) {
        q.deadline = now();
        return;
      }
  send(node_actors_->session_reaper, end_wait{id});
}

void fsm::request_barriers() {
  flush_scheduled_ = false;
  for (auto* group : {&gathering_default_, &gathering_consistent_})
    if (!group->empty())
      request_barrier(*group);
}

/// Requests a barrier for the reads and writes of `group`, which is empty afterwards.
void fsm::request_barrier(read_group& group) {
  const auto id = next_barrier_++;
  send(node_actors_->raft_peer, barrier_request{id, group.lease_ok, group.waits});
  auto& sent = at_barrier_[id];
  sent.lease_ok = group.lease_ok;
  sent.waits = group.waits;
  sent.deadline = now() + settings_.queue_timeout;
  sent.queries.swap(group.queries);
  sent.writes.swap(group.writes);
  sent.ahead.swap(group.ahead);
}

void fsm::on_barrier(const barrier_result& b) {
  auto it = at_barrier_.find(b.id);
  if (it == at_barrier_.end())
    return;
  auto group = std::move(it->second);
  at_barrier_.erase(it);
  for (auto& q : std::exchange(group.ahead, {}))
    if (!cancelled_.contains(q.id))
      b.ok ? answer_ahead(std::move(q), b.index) : keep_ahead(std::move(q), b.text);
  if (group.empty())
    return;
  if (!b.ok) {
    refuse_all(group, b.text);
  } else if (b.index <= applied_.index || MUTANT(read_served_before_applied)) {
    serve_all(group);
  } else {
    PROBE("fsm: read waited for apply");
    until_applied_.emplace(b.index, std::move(group));
  }
}

void fsm::serve_all(const read_group& group) {
  for (const auto& q : group.queries)
    if (!cancelled_.contains(q.id))
      serve(q);
  for (const auto& w : group.writes)
    authorize(w, true);
}

void fsm::refuse_all(const read_group& group, const std::string& text) {
  for (const auto& q : group.queries)
    if (!cancelled_.contains(q.id))
      refuse(q, text);
  for (const auto& w : group.writes)
    refuse(w, text);
}

/// Called on every tick. A node that cannot catch up, for lack of disk space or
/// of a leader, still responds.
void fsm::give_up_waiting() {
  for (auto it = until_applied_.begin(); it != until_applied_.end();) {
    if (now() < it->second.deadline || MUTANT(read_waits_for_ever)) {
      ++it;
      continue;
    }
    PROBE("fsm: read gave up waiting for apply");
    refuse_all(it->second, never_caught_up);
    it = until_applied_.erase(it);
  }
  std::erase_if(until_access_, [this](const auto& each) {
    if (now() < each.second)
      return false;
    refuse(each.first, access_not_ready);
    return true;
  });
}

void fsm::serve_waiting() {
  while (!until_applied_.empty() && until_applied_.begin()->first <= applied_.index) {
    const auto group = std::move(until_applied_.begin()->second);
    until_applied_.erase(until_applied_.begin());
    serve_all(group);
  }
  serve_authorized();
}

void fsm::serve(const read_query& q) {
  if (q.archive)
    return archive(q);
  if (!can_authorize(q.request.query.by))
    return wait_for_access(q);
  if (std::holds_alternative<state::kv_changes>(q.request.query))
    return serve_changes(q);
  const auto n = q.request.min_index;
  const bool waits = MUTANT(watch_parked_without_look) || has_to_wait(q);
  if (n > 0 && waits && now() < q.deadline) {
    if (!answer_refusal(q))
      park(q);
    return;
  }
  if (is_behind(q))
    return refuse(q, never_caught_up);
  if (!begin_long_read(q))
    reply_to(q, machine_->evaluate(q.request.query, cluster_now()));
}

bool fsm::begin_long_read(const read_query& q) {
  const auto& requested = q.request.query;
  const auto at = machine_->applied_index();
  for (auto& each : long_reads_)
    if (each.at == at && state::same_question(each.requested, requested)) {
      PROBE("fsm: long read joined");
      each.waiting.push_back(q);
      return true;
    }
  auto read = machine_->begin_long_read(requested, cluster_now(), settings_.long_read_rows);
  if (read == nullptr)
    return false;
  long_reads_.push_back({requested, at, std::move(read), {q}});
  go_on_later();
  return true;
}

void fsm::read_on() {
  PRECONDITION(!long_reads_.empty());
  auto& next = long_reads_.front();
  if (!next.read->go_on(settings_.read_in_a_slice)) {
    // A few reads take turns; others hold no rows before they start.
    const auto behind =
        std::next(long_reads_.begin(), static_cast<std::ptrdiff_t>(std::min(long_reads_.size(), reads_at_once)));
    return long_reads_.splice(behind, long_reads_, long_reads_.begin());
  }
  const auto done = std::move(next);
  long_reads_.pop_front();
  const auto found =
      freed_elsewhere(node_actors_->checkpointer, std::make_shared<const state::query_result>(done.read->take()));
  for (const auto& q : done.waiting)
    reply_to(q, found);
}

void fsm::park(const read_query& q) {
  send(node_actors_->watch_registry, park_query{q.id, q.request.query, q.deadline});
  note_end_of_token(q);
  const bool fresh = parked_.emplace(q.id, q).second;
  INVARIANT(fresh); // the watch_registry and this actor know the same queries
}

/// A claim that does not exist yet, because its entry is not applied here, has not ended.
bool fsm::is_behind(const read_query& q) const {
  return q.until_decided && machine_->applied_index().value < q.request.min_index && !MUTANT(claim_missed_by_laggard);
}

bool fsm::has_to_wait(const read_query& q) {
  const auto* claim = q.until_decided ? std::get_if<state::claim_status>(&q.request.query) : nullptr;
  if (claim != nullptr)
    return is_behind(q) || machine_->waits(*claim);
  return index_of(q.request.query).value <= q.request.min_index;
}

/// Clients that wait for one large prefix ask the same again after each entry, and to search all
/// below it takes up to a millisecond.
log_index fsm::index_of(const state::query& q) {
  if (!std::visit([]<class Query>(const Query&) { return names_prefix<Query>; }, q))
    return machine_->index_of(q);
  const auto at = machine_->applied_index();
  if (std::exchange(indexes_at_, at) != at)
    indexes_.clear();
  for (const auto& [query, index] : indexes_)
    if (state::same_question(query, q))
      return index;
  if (indexes_.size() == indexes_max)
    indexes_.erase(indexes_.begin());
  return indexes_.emplace_back(q, machine_->index_of(q)).second;
}

/// Evaluates some of the woken queries. The others stay parked until the next slice.
void fsm::look_at_woken() {
  PRECONDITION(!woken_.empty());
  auto& t = woken_.front();
  if (t.ids.size() <= woken_in_a_slice) {
    const auto last = std::move(t);
    woken_.pop_front();
    return look_again(last);
  }
  PROBE("fsm: woken queries looked at in slices");
  queries_touched some{{}, t.expired, t.quiet_up_to};
  const auto from = t.ids.end() - static_cast<std::ptrdiff_t>(woken_in_a_slice);
  some.ids.assign(from, t.ids.end());
  t.ids.erase(from, t.ids.end());
  look_again(some);
  go_on_later();
}

/// Evaluates woken or expired queries. Those that still have to wait stay parked; equal queries
/// with many rows share one result.
void fsm::look_again(const queries_touched& t) {
  // Many queries may wait for the same rows, and reading a thousand rows takes as long as writing
  // the response.
  shared_results long_ones, changes;
  const auto answer = [&](const read_query& q) {
    const auto& requested = q.request.query;
    for (const auto& [query, result] : long_ones)
      if (state::same_question(query, requested)) {
        PROBE("fsm: rows looked up once for several");
        return reply_to(q, result);
      }
    if (begin_long_read(q))
      return;
    auto result = machine_->evaluate(requested, cluster_now());
    if (state::row_count(result) < rows_worth_sharing)
      return reply_to(q, std::move(result));
    if (long_ones.size() == long_ones_max)
      long_ones.erase(long_ones.begin());
    long_ones.emplace_back(requested, std::make_shared<const state::query_result>(std::move(result)));
    reply_to(q, long_ones.back().second);
  };
  for (auto id : t.ids) {
    auto it = parked_.find(id);
    if (it == parked_.end())
      continue;
    if (std::holds_alternative<state::kv_changes>(it->second.request.query)) {
      auto q = std::move(it->second);
      parked_.erase(it);
      look_at_changes(q, t, changes);
      continue;
    }
    if (!t.expired && has_to_wait(it->second)) {
      PROBE("watch: woken and parked again");
      continue;
    }
    if (t.expired)
      PROBE("watch: answered at its deadline");
    if (is_behind(it->second))
      refuse(it->second, never_caught_up);
    else
      answer(it->second);
    parked_.erase(it);
    if (!t.expired)
      send(node_actors_->watch_registry, unpark_query{id});
  }
}

void fsm::reply_to(const read_query& q, state::query_result result) {
  reply_to(q, read_result{q.id, std::move(result), 0, true});
}

void fsm::reply_to(const read_query& q, std::shared_ptr<const state::query_result> shared) {
  reply_to(q, read_result{q.id, state::query_result{}, 0, true, 0, 0, std::move(shared)});
}

void fsm::reply_to(const read_query& q, read_result r) {
  if (gateway_of(q.id) >= node_actors_->gateways.size())
    return;
  r.waited = parked_.contains(q.id);
  if (q.request.mode == http::consistency::stale && !view_.serving) {
    r.last_contact_ms = ms_since_leader();
    r.known_leader = !view_.soft.leader.is_zero();
  }
  if (const auto* get = std::get_if<state::kv_get>(&q.request.query)) {
    r.lock_delay_ms = lock_delay_left_ms(get->key);
  } else if (view_.serving && (std::holds_alternative<state::session_info>(q.request.query) || q.until_decided)) {
    send(node_actors_->session_reaper, std::move(r)); // it knows the remaining time of sessions
    return;
  }
  send(node_actors_->gateways[gateway_of(q.id)], std::move(r));
}

void fsm::refuse(const read_query& q, const std::string& text) {
  answer_gateway(*this, *node_actors_, q.id, read_result{q.id, failure{text}, 0, false});
}

std::uint64_t fsm::lock_delay_left_ms(const std::string& key) {
  const auto until = machine_->locked_out_until(key);
  if (!until)
    return 0;
  const auto now = cluster_now();
  return *until > now ? until->value - now.value : 0;
}

/// Approximately the next entry's time: exact on the leader, elsewhere less by the transit time.
cluster_time fsm::cluster_now() {
  if (view_.serving)
    return std::max(machine_->now(), view_.clock.at(now().time_since_epoch()));
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now() - applied_at_).count();
  return cluster_time{machine_->now().value + static_cast<std::uint64_t>(since > 0 ? since : 0)};
}

std::uint64_t fsm::ms_since_leader() {
  return milliseconds_since(std::chrono::nanoseconds(vitals_->leader_contact_ns.load(std::memory_order_relaxed)),
                            now());
}

// ---- maintenance

void fsm::report_applied() {
  vitals_->applied_index.store(applied_.index.value, std::memory_order_relaxed);
  metrics_.applied(applied_.index.value);
}

void fsm::has_history(const state::history_scope& known) {
  if (known == history_)
    return;
  history_ = known;
  const shared_tables::writing writes(settings_.shared.get());
  machine_->set_history(history_);
}

void fsm::report_standing() {
  if (settings_.shared)
    settings_.shared->stands(view_.serving, !view_.soft.leader.is_zero(), lease_until_);
}

void fsm::replace(const machine_replaced& r) {
  if (r.meta.index > applied_.index) {
    PROBE("fsm: snapshot in force");
    log::info("fsm", "state received from the leader",
              {{"index", r.meta.index.value}, {"keys", r.machine->key_count()}});
    const bool indexes_may_fall =
        r.machine->restored_at() != machine_->restored_at() && !MUTANT(restore_by_snapshot_not_noticed);
    if (indexes_may_fall)
      PROBE("fsm: snapshot brought a restore");
    auto old = std::exchange(machine_, r.machine);
    machine_->set_coordinates(coordinates_);
    machine_->set_history(history_);
    machine_->keep_changes(settings_.changes_bytes_max);
    machine_->tear_down_at_once(settings_.torn_down_at_once);
    if (settings_.shared) {
      const shared_tables::writing writes(settings_.shared.get());
      settings_.shared->show(machine_);
    }
    send(node_actors_->checkpointer, free_memory{{std::move(old)}});
    applied_ = r.meta;
    applied_at_ = now();
    checkpointed_ = r.meta.index;
    (void)checkpoints_.forget();
    report_applied();
    state::effects changed{state::everything_changed{indexes_may_fall, machine_->restored_at()}};
    machine_->for_each_session([&](const state::session_ptr& s) {
      changed.push_back(state::session_changed{s, true});
    });
    publish(std::move(changed));
    if (indexes_may_fall)
      on_restored_elsewhere();
  }
  send(node_actors_->raft_peer, snapshot_in_force{r.meta, level_in_tables(*machine_)});
  serve_waiting();
  if (!archives_.empty() && !checkpoint_running_) // they waited for a checkpoint of the tables that are gone
    answer_archives({});
}

void fsm::go_on_later() {
  if (goes_on_ || (long_reads_.empty() && woken_.empty() && to_reauthorize_.empty() && !machine_->has_left_over()))
    return;
  goes_on_ = true;
  wake_after(*this, *node_actors_, std::chrono::microseconds(200), go_on_atom::value);
}

void fsm::go_on() {
  goes_on_ = false;
  if (machine_->has_left_over())
    tear_down();
  reauthorize_some_parked();
  if (!woken_.empty())
    look_at_woken();
  else if (!long_reads_.empty())
    read_on();
  go_on_later();
}

void fsm::tear_down() {
  std::vector<std::shared_ptr<const void>> freed;
  {
    const shared_tables::writing writes(settings_.shared.get());
    freed = machine_->tear_down(settings_.torn_down_in_a_slice);
  }
  if (!freed.empty())
    send(node_actors_->checkpointer, free_memory{std::move(freed)});
  if (machine_->has_left_over())
    PROBE("fsm: removed keys torn down in more than one slice");
  if (!archives_.empty() && !checkpoint_running_)
    answer_archives({});
}

void fsm::maintain() {
  vitals_->digest.store(machine_->digest(), std::memory_order_relaxed);
  vitals_->digest_index.store(applied_.index.value, std::memory_order_relaxed);
  metrics_.keys(machine_->key_count());
  const auto changes = machine_->changes_counted();
  metrics_.changes_kept(changes.bytes, changes.floor.value);
  const auto claims = machine_->claims_counted();
  metrics_.claims(claims.holders, claims.waiters, claims.queued_bytes, claims.ends, claims.end_bytes);
  const auto outcomes = machine_->outcomes_counted();
  metrics_.outcomes(outcomes.count, outcomes.bytes);
  const auto now = this->now();
  if (!checkpoint_running_ && !machine_->has_left_over() && applied_.index > checkpointed_ && now >= next_checkpoint_ &&
      (checkpoints_.due(now.time_since_epoch()) || checkpoint_failed_))
    start_checkpoint();
  if (view_.serving)
    reap_tombstones();
}

/// Called on every tick, because a change is not urgent.
void fsm::log_autopilot() {
  const state::query settings = state::autopilot_get{};
  const auto unset = state::autopilot_settings().modify_index;
  const auto index = machine_->index_of(settings);
  if (autopilot_logged_.value_or(unset) != index) {
    autopilot_logged_ = index;
    const auto found = machine_->evaluate(settings);
    send(node_actors_->raft_peer, autopilot_changed{*std::get<state::autopilot_ptr>(found.data)});
  }
  // Written once in each term, if nothing is set; a setting made meanwhile takes precedence.
  if (!settings_.autopilot || index != unset || !view_.serving || autopilot_written_in_ == view_.soft.term)
    return;
  autopilot_written_in_ = view_.soft.term;
  const state::autopilot_set first{*settings_.autopilot, unset};
  send(node_actors_->raft_peer, propose_internal{view_.soft.term, make_payload(wire::encode_command(first))});
}

void fsm::checkpoint_failed(const checkpoint_written& c) {
  // The changed rows were passed on and are lost.
  full_checkpoint_due_ = !MUTANT(changed_rows_forgotten);
  checkpoint_failed_ = true;
  next_checkpoint_ = now() + checkpoint_retry_;
  if (c.unproven) { // the checkpointer has logged it; a program or disk that failed once may fail again
    checkpoint_retry_ = std::min(2 * checkpoint_retry_, checkpoint_retry_max);
    return;
  }
  PROBE("fsm: no room for a checkpoint");
  log::error("fsm", "checkpoint not written; the log grows until space is free",
             {{"index", c.meta.index.value},
              {"error", c.error},
              {"advice", "free space on the disk of the data directory; writes continue meanwhile"}});
}

void fsm::start_checkpoint() {
  PRECONDITION(!checkpoint_running_);
  PRECONDITION(!machine_->has_left_over());
  INVARIANT(checkpointed_ <= applied_.index);
  INVARIANT(machine_->applied_index() == applied_.index);
  checkpoint_running_ = true;
  checkpoint_failed_ = false;
  write_checkpoint w;
  w.meta = applied_;
  w.meta.index = MUTANT(checkpoint_index_ahead) ? applied_.index.next() : applied_.index;
  w.meta.time.value -= MUTANT(checkpoint_of_earlier_time) ? std::min<std::uint64_t>(w.meta.time.value, 1000) : 0;
  w.digest = machine_->digest();
  w.log_bytes = checkpoints_.begin(now().time_since_epoch());
  w.full = full_checkpoint_due_ || machine_->replaced();
  const shared_tables::writing writes(settings_.shared.get());
  w.rows = machine_->take_dirty();
  if (w.full) {
    PROBE("fsm: checkpoint of all rows");
    send(node_actors_->checkpointer,
         free_memory{{std::make_shared<const state::dirty_rows>(std::exchange(w.rows, {}))}});
    w.all = machine_->freeze_rows();
  }
  full_checkpoint_due_ = false;
  w.changes = machine_->take_unkept_changes(std::exchange(all_changes_due_, false));
  send(node_actors_->checkpointer, std::move(w));
  go_on_later(); // what the tables have let go
}

/// Uses a checkpoint instead of the tables: most of it exists already, and packing gigabytes
/// does not block the thread that serves clients.
void fsm::archive(const read_query& q) {
  archives_.emplace(applied_.index, q);
  if (!checkpoint_running_)
    answer_archives({});
}

void fsm::answer_archives(const std::string& error) {
  while (!archives_.empty() && (!error.empty() || archives_.begin()->first <= checkpointed_)) {
    const auto q = std::move(archives_.begin()->second);
    archives_.erase(archives_.begin());
    if (error.empty())
      reply_to(q, {checkpointed_, state::kv_entries{}});
    else
      refuse(q, error);
  }
  if (!archives_.empty() && !checkpoint_running_ && !machine_->has_left_over()) // otherwise tear_down() starts it
    start_checkpoint();
}

void fsm::reap_tombstones() {
  const auto now = this->now();
  const auto newest = machine_->newest_tombstone();
  const auto known = tombstone_bins_.empty() ? log_index{} : tombstone_bins_.rbegin()->second;
  if (newest > known || MUTANT(tombstones_forgotten_again)) {
    if (tombstone_bins_.empty() || now - tombstone_bins_.rbegin()->first >= settings_.tombstone_bin)
      tombstone_bins_.emplace(now, newest);
    else
      tombstone_bins_.rbegin()->second = newest;
  }
  while (!tombstone_bins_.empty() &&
         now - tombstone_bins_.begin()->first >= settings_.tombstone_ttl + settings_.tombstone_bin) {
    const state::tombstone_reap reap{tombstone_bins_.begin()->second};
    send(node_actors_->raft_peer, propose_internal{view_.soft.term, make_payload(wire::encode_command(reap))});
    tombstone_bins_.erase(tombstone_bins_.begin());
  }
}

} // namespace belay::actors
