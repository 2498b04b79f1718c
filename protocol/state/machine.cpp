#include "protocol/state/machine.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/acl/acl_rules.hpp"
#include "protocol/state/acl/permissions.hpp"
#include "protocol/state/catalog/catalog_rules.hpp"
#include "protocol/state/changes/kept_loading.hpp"
#include "protocol/state/claims/asking.hpp"
#include "protocol/state/claims/guarding.hpp"
#include "protocol/state/claims/holding.hpp"
#include "protocol/state/claims/session_claims.hpp"
#include "protocol/state/claims/settling.hpp"
#include "protocol/state/command_level.hpp"
#include "protocol/state/keys/key_operations.hpp"
#include "protocol/state/outcomes/exactly_once.hpp"
#include "protocol/state/reading.hpp"
#include "protocol/state/reading/long_reading.hpp"
#include "protocol/state/recount/recount.hpp"
#include "protocol/state/restore/restoring.hpp"
#include "protocol/state/sessions/session_rules.hpp"
#include "protocol/state/transactions.hpp"

namespace belay::state {

struct machine::impl {
  std::unique_ptr<tables> t = std::make_unique<tables>();
  bool replaced = false;
  log_index applied;
  cluster_time now;
  // Cache for still_allowed(): how often policies, roles and tokens had changed when last checked,
  // and the entry that did it. Not replicated: a decision that is still valid equals a new one.
  std::uint64_t access_changes = 0;
  std::uint64_t access_changes_before = 0; ///< access_changes when the current entry began
  std::optional<cluster_time> alarm;       ///< the last one reported
  log_index access_changed_at;
  std::size_t at_once = 4096;                      ///< removed rows that an entry cleans up itself: 2 ms
  std::vector<std::shared_ptr<const void>> let_go; ///< memory for the caller of tear_down() to free
  std::optional<keys_ahead> ahead;                 ///< keys of the restore in progress
  struct {
    log_index kvs, tombstones, sessions, claims;
  } indexes_before; ///< when the current entry began

  impl() { keep_changes(t->changes.limit()); }

  void look_for_access_changes() {
    if (access_changes != t->acls.changes())
      access_changed_now();
  }
  void access_changed_now() {
    access_changes = t->acls.changes();
    access_changed_at = applied;
  }
  /// Whether the decision in the command is the one that this server would make.
  bool still_allowed(const command& c) const {
    return !c.authorized_at.is_zero() && c.authorized_at < applied && std::holds_alternative<kv_write>(c) &&
           (c.authorized_at >= access_changed_at || MUTANT(judgement_outlives_policies));
  }

  void keep_changes(std::size_t bytes_max) {
    t->changes.limit(bytes_max);
    t->log.limit_keys(change_window::changes_max_of_entry(bytes_max));
  }
  void forget_keys_ahead() {
    let_go.push_back(std::make_shared<keys_ahead>(std::move(*ahead)));
    ahead.reset();
  }
  /// Sorts staged rows in advance; restore_commit validates them again.
  void look_ahead(const plain_command& c, const reply& answer) {
    if (const auto* begins = std::get_if<restore_begin>(&c)) {
      if (ahead && ahead->id() == begins->id) // a repeated proposal
        return;
      if (ahead)
        forget_keys_ahead();
      ahead.emplace(begins->id);
    } else if (const auto* part = std::get_if<restore_rows>(&c); part != nullptr && ahead) {
      if (!std::holds_alternative<bool>(answer))
        return;
      INVARIANT(t->stage.head() != nullptr); // the part was staged
      if (t->stage.head()->id == part->id)
        ahead->add(part->number, part->rows);
    }
  }
  /// Followers of the change feed have to start over.
  void begin_changes(log_index floor) {
    t->log.forget_keys();
    t->changes.begin_at(floor);
  }

  /// Starts an entry: ends what is due at its time.
  applying begin(log_index index, cluster_time entry_time, effects& changed) {
    PRECONDITION(index > applied);
    PRECONDITION(entry_time >= now);
    PRECONDITION(!t->log.is_loading());
    INVARIANT(!t->log.recording());
    INVARIANT(t->log.keys() == 0);              // the window of changes has taken those of the previous entry
    INVARIANT(t->changes.applied() == applied); // so it lacks no entry
    applied = index;
    now = entry_time;
    indexes_before = {t->indexes.at(index_kind::kvs), t->indexes.at(index_kind::tombstones),
                      t->indexes.at(index_kind::sessions), t->indexes.at(index_kind::claims)};
    access_changes_before = t->acls.changes();
    applying a{*t, index, now, changed};
    end_what_is_due(a);
    t->stage.expire(now);
    if (ahead && t->stage.head() == nullptr)
      forget_keys_ahead();
    expire_tokens(a);
    forget_outcomes(a);
    look_for_access_changes(); // expired tokens, and changes by the previous entry
    return a;
  }
  reply carry_out(applying& a, const command& c);
  /// A command that takes effect once.
  reply carry_out_once(applying& a, const command& c);
  /// The refusal if the command's token does not permit it.
  std::optional<reply> refused(const command& c) const {
    if (!c.by || still_allowed(c) || MUTANT(permissions_not_judged_in_apply))
      return std::nullopt;
    return refused_to(*t, c, now);
  }
  /// @pre the command is permitted
  reply carry_out_allowed(applying& a, const command& c);
  /// Finishes an entry: grants what fits now.
  void end(applying& a) {
    if (t->acls.changes() != access_changes_before)
      end_disallowed(a);
    let_in(a);
    INVARIANT(!t->log.recording());
    if (t->changes.applied() < applied) { // else the entry has replaced the tables
      INVARIANT(is_or_becomes_applied(index_kind::kvs, indexes_before.kvs));
      INVARIANT(is_or_becomes_applied(index_kind::tombstones, indexes_before.tombstones));
      INVARIANT(is_or_becomes_applied(index_kind::sessions, indexes_before.sessions));
      INVARIANT(is_or_becomes_applied(index_kind::claims, indexes_before.claims));
      INVARIANT(t->log.keys() == 0 || t->indexes.at(index_kind::kvs) == applied); // readers of keys see the change
      t->changes.add(applied, t->log);
    }
    INVARIANT(t->changes.applied() == applied);
    if (const auto removed = t->kv.removed(); removed != 0 && removed <= at_once) {
      t->kv.tear_down(removed);
      INVARIANT(t->kv.removed() == 0);
    }
    const auto next = state::next_alarm(*t);
    // Nothing is due any more, unless the entry ended as much as one may, or replaced the tables.
    INVARIANT(!next || *next > now || a.due_left == 0 || &a.t != t.get());
    if (next != alarm) {
      alarm = next;
      a.changed.push_back(claims_alarm_moved{next.value_or(cluster_time{})});
    }
  }

  /// Whether an entry left the index alone, or set it to its own.
  bool is_or_becomes_applied(index_kind m, log_index before) const {
    const auto after = t->indexes.at(m);
    return after == before || after == applied;
  }

  reply put_in_force(applying& a, const restore_commit& c) {
    if (auto why = t->stage.unfit(c.id, c.batches))
      return refusal{std::move(*why)};
    if (!t->stage.head()->in_force) {
      PROBE("state: restore came into force");
      auto node_coordinates = t->node_coordinates;
      const auto changes_bytes = t->changes.limit();
      const auto history = t->history;
      const auto end_limits = t->claims.shares.limit();
      const auto guard_limits = t->claims.guards.limit();
      a.touched.clear(); // it belongs to the old tables
      auto keys = std::exchange(ahead, std::nullopt);
      const bool fits = keys && keys->fits(*t->stage.head(), applied);
      auto fresh = restored(*t, fits ? std::optional(keys->take()) : std::nullopt, applied, now, a.changed);
      INVARIANT(fresh->stage.head() != nullptr && fresh->stage.head()->in_force); // a repeated commit finds it
      INVARIANT(fresh->indexes.at(index_kind::restored) == applied);
      INVARIANT(fresh->indexes.at(index_kind::fence_base) >= t->indexes.at(index_kind::fence_base));
      INVARIANT(!fresh->log.is_loading());
      INVARIANT(!fresh->log.recording());
      let_go.push_back(std::exchange(t, std::move(fresh)));
      t->node_coordinates = std::move(node_coordinates);
      keep_changes(changes_bytes);
      t->history = history;
      t->claims.shares.limit(end_limits);
      t->claims.guards.limit(guard_limits);
      begin_changes(MUTANT(restore_without_reset) ? log_index{} : applied);
      replaced = true;
      access_changed_now();
      access_changes_before = access_changes; // waiters from the archive are authorized when they are granted
    }
    return true;
  }
};

namespace {

bool needs_claims(const plain_command& c) {
  return std::visit([](const auto& each) { return level_of(each.tag); }, c) == claims_level;
}

std::optional<std::string> wrong_key_write(const kv_op& op) {
  if (!writes_keys(op.verb))
    return "not a write";
  if (op.key.empty() && op.verb != kv_verb::remove_tree)
    return "Must provide key";
  return std::nullopt;
}

/// Why the operation is rejected before it runs: arguments, fencing token. `fence` may be null.
std::optional<reply> refused_by_fence(const applying& a, const kv_op& op, const fence_ref* fence) {
  if (auto wrong = wrong_key_write(op))
    return refusal{std::move(*wrong)};
  if (fence != nullptr && !is_valid(a.t, *fence))
    return invalid_fence(*fence);
  const std::span<const fence_ref> named(fence, fence != nullptr ? 1 : 0);
  if (const auto* guard = guard_against(a.t, op, named))
    return guarded(op, *guard);
  return std::nullopt;
}

reply write_one_key(applying& a, const kv_op& op, const fence_ref* fence) {
  if (auto refused = refused_by_fence(a, op, fence))
    return std::move(*refused);
  auto r = write_key(a, op);
  if (r.outcome == key_outcome::failed)
    return refusal{std::move(r.text)};
  if (r.outcome == key_outcome::refused && op.verb == kv_verb::unlock)
    leave_queue(a, op.key, op.session);
  if (r.outcome == key_outcome::done && op.verb == kv_verb::add)
    return kv_added{r.sum};
  reply answer(r.outcome == key_outcome::done);
  auto& note = answer.note;
  if (r.outcome == key_outcome::lock_delay) {
    note.why = refused_for::lock_delay;
    note.retry_after_ms = r.wait_ms;
  } else if (r.why != refused_for::nothing) {
    note.why = r.why;
  } else if (r.queued) {
    note.why = refused_for::queued;
  } else if (r.outcome == key_outcome::refused && !r.holder.empty()) {
    note.why = refused_for::held;
    note.holder = std::move(r.holder);
  } else if (r.outcome == key_outcome::refused && op.verb != kv_verb::unlock) {
    note.why = refused_for::index;
  } else if (r.outcome == key_outcome::done && op.verb == kv_verb::lock) {
    INVARIANT(r.entry);
    note.fence = r.entry->fence;
  }
  return answer;
}

reply run(applying& a, const kv_write& c) {
  return write_one_key(a, c.op, nullptr);
}
reply run(applying& a, const fenced_write& c) {
  return write_one_key(a, c.op, &c.fence);
}

reply run(applying& a, const fenced_txn& c) {
  return run_transaction(a, c.body);
}
reply run(applying& a, const txn& c) {
  return run_transaction(a, c);
}
reply run(applying& a, const session_create& c) {
  return create_session(a, c.session);
}

reply run(applying& a, const session_begin& c) {
  return create_session(a, c);
}

reply run(applying& a, const session_destroy& c) {
  // By a client, or by the server itself after expiry.
  const auto by = a.secret != nullptr ? a.t.acls.token_with_secret(*a.secret) : nullptr;
  const auto cause = by == nullptr ? c.cause : c.cause + " by " + by->accessor;
  for (const auto& id : c.ids)
    end_session(a, id, cause);
  return true;
}

reply run(applying& a, const session_expire& c) {
  if (c.restored_at != a.t.indexes.at(index_kind::restored) && !MUTANT(old_expiry_after_restore)) {
    PROBE("machine: a restore came before the end of sessions");
    return true;
  }
  for (const auto& id : c.ids)
    end_session(a, id, "ttl");
  return true;
}

/// All rows or none.
reply run(applying& a, const catalog_register& c) {
  const auto effects_before = static_cast<std::ptrdiff_t>(a.changed.size());
  a.t.log.start_recording();
  auto r = register_all(a, c);
  INVARIANT(effects_before <= std::ssize(a.changed)); // effects are only appended
  if (std::holds_alternative<refusal>(r)) {
    a.t.undo();
    a.changed.erase(a.changed.begin() + effects_before, a.changed.end());
  } else
    a.t.log.discard_recording();
  return r;
}

reply run(applying& a, const catalog_deregister& c) {
  return deregister(a, c);
}

/// docs/contract/02, section 3: does not notify, does not change indexes.
reply run(applying& a, const tombstone_reap& c) {
  a.t.graves.reap(c.up_to);
  return true;
}

template <class Settings>
reply run(applying& a, const settings_set<Settings>& c) {
  return a.t.settings.of<Settings>().set(c, a.index);
}

reply run(applying& a, const restore_begin& c) {
  a.t.stage.begin(c.id, c.archive_index, a.now);
  return true;
}
reply run(applying& a, const restore_rows& c) {
  if (auto why = a.t.stage.add(c.id, c.number, c.rows, a.now))
    return refusal{std::move(*why)};
  return true;
}
reply run(applying& a, const restore_abort& c) {
  a.t.stage.abort(c.id);
  return true;
}
/// Not reachable: it replaces the tables, which only machine::apply can do.
reply run(applying&, const restore_commit&) {
  return refusal{"not here"};
}

/// Commands about claims and write guards.
template <class Command>
requires requires(applying& a, const Command& c) {
  apply_claims(a, c);
}
reply run(applying& a, const Command& c) {
  if (auto wrong = wrong_with(c))
    return std::move(*wrong);
  return apply_claims(a, c);
}
reply run(applying& a, const kv_acquire& c) {
  if (auto wrong = wrong_with(c))
    return std::move(*wrong);
  if (c.wait_ms == 0)
    return c.fence ? run(a, fenced_write{c.op, *c.fence}) : run(a, kv_write{c.op});
  if (auto refused = refused_by_fence(a, c.op, c.fence ? &*c.fence : nullptr))
    return std::move(*refused);
  return apply_claims(a, c);
}
/// Not reachable: it needs a scope, and machine::apply handles it.
reply run(applying&, const outcome_seal&) {
  return refusal{"not here"};
}
/// Every entry processes what is due; this one exists to be an entry.
reply run(applying&, const claims_alarm&) {
  return true;
}

/// Commands about policies, roles and tokens.
template <class Command>
requires requires(applying& a, const Command& c) {
  apply_access(a, c);
}
reply run(applying& a, const Command& c) {
  return apply_access(a, c);
}

reply run_any(applying& a, const plain_command& c) {
  return std::visit([&](const auto& each) { return run(a, each); }, c);
}

bool undoes_itself(const plain_command& c) {
  return std::holds_alternative<txn>(c) || std::holds_alternative<fenced_txn>(c);
}

/// Runs the command. It has no effect if its rows, hidden ones too, are too large to be kept.
reply run_unless_too_large(applying& a, const plain_command& c) {
  const auto effects_before = static_cast<std::ptrdiff_t>(a.changed.size());
  const bool records = !undoes_itself(c);
  if (records)
    a.t.log.start_recording();
  auto answer = run_any(a, c);
  INVARIANT(effects_before <= std::ssize(a.changed)); // effects are only appended
  INVARIANT(a.t.log.recording() == records);
  if (!is_too_large(answer)) {
    if (records)
      a.t.log.discard_recording();
    return answer;
  }
  PROBE("once: a write has no effect because its reply is too large");
  if (records) {
    a.t.undo();
    a.changed.erase(a.changed.begin() + effects_before, a.changed.end());
  }
  return once_refusal{once_error::answer_size, {}};
}

std::optional<reply> early(const tables& t, const kv_write& c, cluster_time now) {
  if (c.op.verb == kv_verb::lock) {
    if (auto until = t.delays.blocked_until(c.op.key, now)) {
      reply no(false);
      no.note.why = refused_for::lock_delay;
      no.note.retry_after_ms = until->value - now.value;
      return no;
    }
    if (auto wrong = session_id_error(c.op.session))
      return reply{refusal{std::move(*wrong)}};
  }
  if (c.op.verb == kv_verb::unlock && c.op.session.empty())
    return reply{refusal{"missing session"}};
  return std::nullopt;
}
/// An acquire of a lock that another session holds. @pre the tables are the newest ones
std::optional<reply> too_late(const tables& t, const kv_write& c, cluster_time now) {
  if (c.op.verb != kv_verb::lock || c.op.key.empty() || t.delays.blocked_until(c.op.key, now))
    return std::nullopt;
  const auto session = t.sessions.find(c.op.session);
  const auto entry = t.kv.find(c.op.key);
  if (!session || !entry || entry->session.empty() || entry->session == session->id ||
      guard_against(t, c.op, {}) != nullptr)
    return std::nullopt;
  PROBE("state: an acquire that is late was refused without the log");
  reply no(false);
  no.note.why = refused_for::held;
  no.note.holder = entry->session;
  return no;
}
std::optional<reply> early(const tables& t, const txn& c, cluster_time now) {
  auto errors = early_errors(t, c, now);
  if (errors.empty())
    return std::nullopt;
  return reply{txn_reply{{}, std::move(errors)}};
}
std::optional<reply> early(const tables&, const session_destroy& c, cluster_time) {
  for (const auto& id : c.ids)
    if (auto wrong = session_id_error(id))
      return reply{refusal{std::move(*wrong)}};
  return std::nullopt;
}
std::optional<reply> early(const tables&, const catalog_register& c, cluster_time) {
  if (auto wrong = register_error(c))
    return reply{refusal{std::move(*wrong)}};
  return std::nullopt;
}
std::optional<reply> early(const tables&, const catalog_deregister& c, cluster_time) {
  if (auto wrong = deregister_error(c))
    return reply{refusal{std::move(*wrong)}};
  return std::nullopt;
}
std::optional<reply> early(const tables& t, const fenced_txn& c, cluster_time now) {
  return early(t, c.body, now);
}
std::optional<reply> early(const tables&, const kv_acquire& c, cluster_time) {
  if (auto wrong = wrong_with(c))
    return reply{std::move(*wrong)};
  if (auto wrong = session_id_error(c.op.session))
    return reply{refusal{std::move(*wrong)}};
  return std::nullopt;
}
/// Validates arguments of commands about claims.
template <class Command>
requires requires(const Command& c) {
  wrong_with(c);
}
std::optional<reply> early(const tables&, const Command& c, cluster_time) {
  if (auto wrong = wrong_with(c))
    return reply{std::move(*wrong)};
  return std::nullopt;
}
std::optional<reply> early(const tables& t, const restore_begin& c, cluster_time now) {
  if (t.stage.busy_with_another(c.id, now))
    return reply{refusal{"another snapshot is being restored: try again when it has ended"}};
  return std::nullopt;
}
// ---- commands that would change nothing, and need no entry (docs/operate/security.md, B16)

std::optional<reply> unchanged(const tables& t, const session_destroy& c) {
  const bool unknown = std::none_of(c.ids.begin(), c.ids.end(),
                                    [&](const std::string& id) { return session_id_error(id) || t.sessions.find(id); });
  return unknown ? std::optional<reply>(true) : std::nullopt;
}
std::optional<reply> unchanged(const tables& t, const acl_bootstrap& c) {
  if (auto why = bootstrap_refusal(t, c))
    return reply{refusal{std::move(*why)}};
  return std::nullopt;
}
template <class Other>
std::optional<reply> unchanged(const tables&, const Other&) {
  return std::nullopt;
}
/// apply()'s reply to a command that needs no permission and would change nothing; else nullopt.
std::optional<reply> answered_without_change(const tables& t, const command& c) {
  if (c.once && !std::holds_alternative<acl_bootstrap>(c)) // its reply is kept
    return std::nullopt;
  return std::visit([&](const auto& each) { return unchanged(t, each); }, static_cast<const plain_command&>(c));
}

/// Null: not a transaction.
const txn* operations_of(const plain_command& c) {
  if (const auto* fenced = std::get_if<fenced_txn>(&c))
    return &fenced->body;
  return std::get_if<txn>(&c);
}
template <class Other>
std::optional<reply> early(const tables&, const Other&, cluster_time) {
  return std::nullopt;
}

} // namespace

reply machine::impl::carry_out(applying& a, const command& c) {
  if (c.by)
    a.secret = &c.by->secret;
  if (c.client_address) {
    const auto accessor = scope_of(*t, c.by, now);
    a.scope = accessor && !accessor->empty() ? *accessor : *c.client_address;
    if (c.by && accessor)
      a.by = {*accessor, c.by->allowed_by_default, c.by->datacenter};
  }
  if (c.once || std::holds_alternative<outcome_seal>(c))
    return carry_out_once(a, c);
  if (auto no = refused(c)) {
    PROBE("state: write refused to its token");
    return std::move(*no);
  }
  return carry_out_allowed(a, c);
}

/// Looks up the outcome before it checks permissions, which may have changed since.
reply machine::impl::carry_out_once(applying& a, const command& c) {
  const auto scope = scope_of(*t, c.by, now);
  const auto* seal = std::get_if<outcome_seal>(&c);
  if (scope && seal == nullptr) {
    if (auto known = known_outcome(*t, *scope, *c.once); known && !MUTANT(once_applied_again))
      return std::move(*known);
    if (auto no = not_accepted(a, *scope, c.once->key, c.once->requested))
      return std::move(*no);
  }
  // A rejected write does not use up its key.
  if (auto no = refused(c)) {
    PROBE("state: write refused to its token");
    return std::move(*no);
  }
  if (seal != nullptr)
    return seal_outcome(a, *scope, *seal);
  a.keeps_answer = true;
  auto answer = carry_out_allowed(a, c);
  if (std::holds_alternative<once_refusal>(answer) || is_too_large(answer))
    return once_refusal{once_error::answer_size, {}};
  keep_outcome(a, *scope, *c.once, answer);
  return answer;
}

reply machine::impl::carry_out_allowed(applying& a, const command& c) {
  if (const auto* commit = std::get_if<restore_commit>(&c))
    return put_in_force(a, *commit);
  if (!a.claims_in_use() && needs_claims(c))
    t->indexes.set(index_kind::claims, a.index);
  // Entries of 0.2.0 keep their decisions: only visible rows count, and nothing is undone.
  const bool bounded = a.keeps_answer && c.client_address && replies_with_rows(c);
  auto answer = bounded ? run_unless_too_large(a, c) : run_any(a, c);
  look_ahead(c, answer);
  if (auto* results = std::get_if<txn_reply>(&answer); results != nullptr && c.by)
    keep_visible(*t, *c.by, now, *results);
  if (auto* refused = std::get_if<claim_refusal>(&answer); refused != nullptr && c.by)
    keep_visible(*t, *c.by, now, *refused);
  return answer;
}

machine::machine() : impl_(std::make_unique<impl>()) {}
machine::~machine() = default;
machine::machine(machine&&) noexcept = default;
machine& machine::operator=(machine&&) noexcept = default;

reply machine::apply(log_index index, cluster_time now, const command& c, effects& changed) {
  auto a = impl_->begin(index, now, changed);
  auto answer = impl_->carry_out(a, c);
  impl_->end(a);
  return answer;
}

void machine::fetch(std::span<const command* const> next) const {
  constexpr std::size_t cached = 32'768; // keys that fit the cache anyway: some 15 MB with values of 256 bytes
  if (impl_->t->kv.size() <= cached)
    return;
  std::vector<std::string_view> keys;
  keys.reserve(next.size());
  const auto add_all = [&](const txn& t) {
    for (const auto& op : t.ops)
      if (const auto* of_key = std::get_if<kv_op>(&op))
        keys.emplace_back(of_key->key);
  };
  for (const auto* c : next)
    if (const auto* write = std::get_if<kv_write>(c))
      keys.emplace_back(write->op.key);
    else if (const auto* plain = std::get_if<txn>(c))
      add_all(*plain);
    else if (const auto* fenced = std::get_if<fenced_txn>(c))
      add_all(fenced->body);
  if (keys.size() > 1)
    impl_->t->kv.fetch(keys);
}

void machine::skip(log_index index, cluster_time now, effects& changed) {
  auto a = impl_->begin(index, now, changed);
  impl_->end(a);
}

query_result machine::evaluate(const query& q, cluster_time now) const {
  auto found = visible_answer(*impl_->t, q, std::max(now, impl_->now));
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.now = now; })
          each.now = std::max(now, impl_->now);
      },
      found.data);
  return found;
}
std::unique_ptr<long_read> machine::begin_long_read(const query& q, cluster_time now, std::size_t rows_min) const {
  return state::begin_long_read(*impl_->t, q, std::max(now, impl_->now), rows_min);
}
std::optional<refusal> machine::refuses(const query& q, cluster_time now) const {
  return refused_to(*impl_->t, q, std::max(now, impl_->now));
}
std::optional<reply> machine::refuses(const command& c, cluster_time now) const {
  const auto t = std::max(now, impl_->now);
  // It may have run while it was permitted: apply() decides.
  if (const auto scope = c.once ? scope_of(*impl_->t, c.by, t) : std::nullopt;
      scope && impl_->t->outcomes.find(*scope, c.once->key))
    return std::nullopt;
  if (auto no = refused_to_ask(*impl_->t, c, t))
    return no;
  return answered_without_change(*impl_->t, c);
}
cluster_time machine::end_of_token(const auth_context& by) const {
  const auto token = impl_->t->acls.token_with_secret(by.secret);
  return token == nullptr ? cluster_time{} : token->expires;
}
bool machine::has_client_rows() const {
  const auto& t = *impl_->t;
  const auto any = [](const auto& rows) {
    for (const auto& slot : rows)
      if (level_of(dirty_row{rows.number(), {}, slot.value.row}) == client_address_level)
        return true;
    return false;
  };
  // Claims and their ends count in the shares of their scopes.
  return t.claims.shares.bytes() != 0 || any(t.claims.guards.rows()) || any(t.claims.resources.rows()) ||
         any(t.sessions.rows());
}
bool machine::has_access_rows() const {
  return impl_->t->acls.policies().find(management_policy_id) != nullptr;
}
bool machine::has_nodes() const {
  return impl_->t->catalog.nodes().size() > 0;
}
log_index machine::index_of(const query& q) const {
  return answer_index(*impl_->t, q);
}
void machine::keep_changes(std::size_t bytes_max) {
  impl_->keep_changes(bytes_max);
}
machine::changes_kept machine::changes_counted() const {
  const auto& c = impl_->t->changes;
  return {c.bytes(), c.size(), c.floor()};
}
void machine::set_history(history_scope known) {
  impl_->t->history = known;
}
history_id machine::history() const {
  const auto cluster_id = impl_->t->history.cluster_id;
  return cluster_id == 0 ? history_id() : history_id::of(cluster_id, restored_at());
}
void machine::set_coordinates(coordinates::table_ptr known) {
  impl_->t->node_coordinates = std::move(known);
}
log_index machine::applied_index() const {
  return impl_->applied;
}
cluster_time machine::now() const {
  return impl_->now;
}
std::uint64_t machine::digest() const {
  return impl_->t->log.digest();
}
std::uint64_t machine::recompute_digest() const {
  return impl_->t->recompute_digest();
}
std::optional<std::string> machine::recount() const {
  return state::recount(*impl_->t);
}

bool machine::reads_trees(const command& c) {
  const auto* ops = c.once ? nullptr : operations_of(c); // see refuse_early()
  return ops != nullptr && state::reads_trees(*ops);
}
std::optional<reply> machine::refuse_early(const command& c, cluster_time now, bool newest) const {
  if (c.once) { // nothing may precede the reply it got when it ran
    now = unknown_time;
    newest = false;
  }
  if (const auto* acquire = newest ? std::get_if<kv_write>(&c) : nullptr; acquire != nullptr)
    if (auto late = too_late(*impl_->t, *acquire, now))
      return late;
  if (const auto* ops = c.once ? nullptr : operations_of(c); ops != nullptr)
    if (auto no =
            refused_for_reads(*impl_->t, *ops)) // with an idempotency key, a write with too large a reply does not run
      return reply{std::move(*no)};
  return std::visit([&](const auto& each) { return early(*impl_->t, each, now); },
                    static_cast<const plain_command&>(c));
}

bool machine::has_claims() const {
  return !impl_->t->indexes.at(index_kind::claims).is_zero();
}
bool machine::waits(const claim_status& q) const {
  const auto claim = impl_->t->claims.claims.find(q.of, q.id);
  return claim != nullptr && claim->state == claim_state::waiting;
}
std::optional<cluster_time> machine::next_alarm() const {
  return state::next_alarm(*impl_->t);
}
void machine::limit_claim_ends(std::uint64_t bytes_max, std::uint64_t share) {
  impl_->t->claims.shares.limit({bytes_max, share});
}
void machine::limit_guards(std::uint64_t most, std::uint64_t share) {
  impl_->t->claims.guards.limit({most, share});
}
machine::claim_totals machine::claims_counted() const {
  const auto& c = impl_->t->claims;
  return {c.resources.rows().size(), c.claims.holders(), c.claims.waiters(),      c.ghosts.rows().size(),
          c.ends.rows().size(),      c.guards.size(),    c.claims.queued_bytes(), c.shares.bytes()};
}

bool machine::has_outcomes() const {
  return impl_->t->outcomes.rows().size() > 0;
}
machine::outcome_totals machine::outcomes_counted() const {
  return {impl_->t->outcomes.rows().size(), impl_->t->outcomes.bytes()};
}

void machine::for_each_session(const std::function<void(const session_ptr&)>& f) const {
  impl_->t->sessions.rows().for_each_under("", f);
}

std::size_t machine::key_count() const {
  return impl_->t->kv.size();
}

log_index machine::restored_at() const {
  return impl_->t->indexes.at(index_kind::restored);
}

std::optional<cluster_time> machine::locked_out_until(std::string_view key) const {
  return impl_->t->delays.blocked_until(key, impl_->now);
}

log_index machine::newest_tombstone() const {
  return impl_->t->graves.newest();
}

bool machine::replaced() const {
  return impl_->replaced;
}
bool machine::has_left_over() const {
  return impl_->t->kv.removed() != 0 || impl_->t->changes.has_let_go() || impl_->t->log.has_let_go() ||
         !impl_->let_go.empty();
}
std::vector<std::shared_ptr<const void>> machine::tear_down(std::size_t rows_max) {
  auto freed = impl_->t->kv.tear_down(rows_max);
  for (auto list : {std::exchange(impl_->let_go, {}), impl_->t->changes.take_let_go(), impl_->t->log.take_let_go()})
    std::move(list.begin(), list.end(), std::back_inserter(freed));
  return freed;
}
void machine::tear_down_at_once(std::size_t rows_max) {
  impl_->at_once = rows_max;
}
dirty_rows machine::take_dirty() {
  impl_->replaced = false;
  auto rows = impl_->t->take_dirty();
  INVARIANT(impl_->t->kv.removed() == 0); // each removed key was noted as gone
  return rows;
}
std::vector<dirty_row> machine::all_rows() const {
  return impl_->t->all_rows();
}
std::shared_ptr<const frozen_rows> machine::freeze_rows() const {
  struct views final : frozen_rows {
    std::vector<std::function<void(dirty_rows&)>> append;
    dirty_rows rows() const override {
      dirty_rows all;
      for (const auto& each : append)
        each(all);
      return all;
    }
  };
  auto frozen = std::make_shared<views>();
  impl_->t->for_each_table([&](const auto& map) {
    if constexpr (requires { map.view_of(""); }) {
      frozen->append.push_back([number = map.number(), rows = map.view_of("")](dirty_rows& all) {
        for (auto at = rows.begin(); !rows.at_end(at); at = rows.next(at))
          all.push_back({number, std::string(rows.at(at).key()), rows.at(at).value.row});
      });
    } else { // few rows
      std::vector<dirty_row> rows;
      map.append_rows(rows);
      frozen->append.push_back(
          [rows = std::move(rows)](dirty_rows& all) { all.insert(all.end(), rows.begin(), rows.end()); });
    }
  });
  return frozen;
}
void machine::load_row(dirty_row row) {
  PRECONDITION(impl_->applied.is_zero());
  impl_->t->log.loading(true);
  const bool forgotten = (row.table == table::tombstones && MUTANT(tombstones_not_in_checkpoint)) ||
                         (row.table == table::lock_delays && MUTANT(lock_delays_not_in_checkpoint)) ||
                         (row.table == table::claim_ghosts && MUTANT(ghosts_not_in_checkpoint));
  if (!forgotten)
    impl_->t->restore(std::move(row));
}

void machine::finish_load(log_index applied, cluster_time now) {
  PRECONDITION(impl_->applied.is_zero());
  impl_->applied = applied;
  impl_->now = now;
  impl_->access_changed_now();
  impl_->t->log.loading(false);
  impl_->begin_changes(applied);
}

unkept_changes machine::take_unkept_changes(bool all) {
  return impl_->t->changes.take_unkept(all);
}
status machine::load_changes(log_index floor, std::vector<kept_change> list) {
  return load_kept(*impl_->t, floor, std::move(list));
}

} // namespace belay::state
