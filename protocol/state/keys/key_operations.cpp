#include "protocol/state/keys/key_operations.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/empty_payload.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/go_compat/syntax.hpp"

namespace belay::state {

namespace {

/// `notifies_client`: whether to wake readers; always true, except for mutants.
void key_was_changed(applying& a, const std::string& key, bool notifies_client = true) {
  a.t.indexes.set(index_kind::kvs, a.index);
  if (notifies_client)
    a.changed.push_back(kv_changed{key});
}

/// docs/contract/02, section 2: an entry with the same value, flags, lock
/// index and holder as the stored one is not written (docs/internals/pitfalls.md C7).
kv_entry_ptr store(applying& a, const kv_table::location& location, const kv_op& op, std::uint64_t lock_index,
                   std::string_view session, std::uint64_t fence) {
  const auto old = kv_table::entry(location);
  const payload& value = op.value ? op.value : empty_payload();
  if (old && old->flags == op.flags && old->lock_index == lock_index && old->session == session &&
      old->fence == fence && *old->value == *value)
    return old;
  const kv_entry_ptr entry = kv_entry{.key = op.key,
                                      .value = value,
                                      .flags = op.flags,
                                      .lock_index = lock_index,
                                      .session = session,
                                      .create_index = old ? old->create_index : a.index,
                                      .modify_index = a.index,
                                      .fence = fence};
  a.t.kv.put(location, entry);
  key_was_changed(a, op.key);
  return entry;
}

/// docs/contract/03, section 5.4: put and cas keep holder and fencing token, reset the lock index.
kv_entry_ptr overwrite(applying& a, const kv_table::location& location, const kv_op& op) {
  const auto old = kv_table::entry(location);
  const bool keeps = old && !MUTANT(put_takes_the_lock_away);
  return store(a, location, op, 0, keeps ? old->session : std::string_view(), keeps ? old->fence : 0);
}

key_result set(applying& a, const kv_op& op) {
  return {key_outcome::done, overwrite(a, a.t.kv.locate(op.key), op)};
}

key_result set_if_unchanged(applying& a, const kv_op& op) {
  const auto location = a.t.kv.locate(op.key);
  const auto old = kv_table::entry(location);
  if (op.index != (old ? old->modify_index : log_index{}) && !MUTANT(cas_ignores_index)) {
    PROBE("kv: check-and-set refused");
    return {key_outcome::refused};
  }
  return {key_outcome::done, overwrite(a, location, op)};
}

/// docs/reference/http-extensions.md: a missing key counts as zero. Rejected
/// when a put is, and keeps what a put keeps, and also the flags.
key_result add(applying& a, const kv_op& op) {
  const auto location = a.t.kv.locate(op.key);
  const auto old = kv_table::entry(location);
  const auto before = old ? go_compat::parse_int(*old->value) : 0;
  if (!before)
    return {.outcome = key_outcome::refused, .why = refused_for::value};
  std::int64_t sum = 0;
  const bool wraps = __builtin_add_overflow(*before, op.amount, &sum) && !MUTANT(counter_wraps_around);
  if (wraps || (op.min && sum < *op.min) || (op.max && sum > *op.max)) {
    PROBE("kv: counter stays within its bounds");
    return {.outcome = key_outcome::refused, .why = refused_for::bounds};
  }
  auto put = op;
  put.value = make_payload(std::to_string(sum));
  put.flags = old && !MUTANT(counter_loses_flags) ? old->flags : 0;
  return {.outcome = key_outcome::done, .entry = overwrite(a, location, put), .sum = sum};
}

/// docs/contract/04, section 3.1, in its order.
key_result acquire(applying& a, const kv_op& op) {
  if (auto until = a.t.delays.blocked_until(op.key, a.now); until && !MUTANT(lock_delay_ignored))
    return {key_outcome::lock_delay, nullptr, {}, {}, until->value - a.now.value};
  if (auto wrong = session_id_error(op.session))
    return {key_outcome::failed, nullptr, std::move(*wrong)};
  const auto session = a.t.sessions.find(op.session);
  if (!session)
    return {key_outcome::failed, nullptr, "invalid session \"" + op.session + "\""};
  const auto location = a.t.kv.locate(op.key);
  const auto old = kv_table::entry(location);
  if (old && !old->session.empty()) {
    if (old->session != session->id && !MUTANT(lock_granted_twice)) {
      PROBE("kv: lock is held");
      return {key_outcome::refused, nullptr, {}, std::string(old->session)};
    }
    // Not a new grant: the holder must stay valid wherever its fencing token is checked.
    return {key_outcome::done, store(a, location, op, old->lock_index, session->id, old->fence)};
  }
  if (a.lock_is_awaited(op.key) && !MUTANT(plain_acquire_overtakes_queue)) {
    PROBE("kv: others wait for the lock");
    return {.outcome = key_outcome::refused, .queued = true};
  }
  const auto fence = MUTANT(fence_is_lock_index) ? (old ? old->lock_index : 0) + 1 : a.new_fence();
  return {key_outcome::done, store(a, location, op, (old ? old->lock_index : 0) + 1, session->id, fence)};
}

/// docs/contract/04, section 3.2: the id is only compared.
key_result release(applying& a, const kv_op& op) {
  if (op.session.empty())
    return {key_outcome::failed, nullptr, "missing session"};
  const auto location = a.t.kv.locate(op.key);
  const auto old = kv_table::entry(location);
  if (!old || old->session.empty() || (old->session != folded(op.session) && !MUTANT(released_by_anybody)))
    return {key_outcome::refused, nullptr, {}, std::string(old ? old->session : std::string_view())};
  a.look_at_lock(op.key);
  return {key_outcome::done, store(a, location, op, old->lock_index, {}, 0)};
}

void remove(applying& a, const kv_table::location& location, const std::string& key) {
  a.t.kv.erase(location);
  a.t.graves.bury_key(key, a.index);
  INVARIANT(a.t.graves.newest() >= a.index); // else the index of a read would decrease
  a.t.indexes.set(index_kind::tombstones, a.index);
  key_was_changed(a, key, !MUTANT(delete_wakes_nobody));
  // Deleting a locked key frees its lock, and ends no wait for it (docs/reference/claims.md, rule 27).
  a.look_at_lock(MUTANT(removed_lock_grants_nobody) ? std::string() : key);
}

/// docs/contract/02, section 3: one tombstone for the whole tree, none for the empty prefix.
void remove_tree(applying& a, const std::string& prefix) {
  const auto keys_before = a.t.kv.size();
  const auto removed = a.t.kv.erase_under(prefix);
  INVARIANT(a.t.kv.size() + removed == keys_before);
  a.look_at_locks_under(prefix);
  if (removed > 0) {
    a.t.indexes.set(index_kind::kvs, a.index);
    if (prefix.empty())
      a.t.indexes.set(index_kind::all_keys_removed, a.index);
    else {
      a.t.graves.bury_tree(prefix, a.index);
      INVARIANT(a.t.graves.newest() >= a.index);
      a.t.indexes.set(index_kind::tombstones, a.index);
    }
  }
  if (removed > 0 && !MUTANT(tree_delete_wakes_nobody))
    a.changed.push_back(kv_tree_removed{prefix});
}

} // namespace

key_result write_key(applying& a, const kv_op& op) {
  switch (op.verb) {
  case kv_verb::set:
    return set(a, op);
  case kv_verb::cas:
    return set_if_unchanged(a, op);
  case kv_verb::add:
    return add(a, op);
  case kv_verb::lock:
    return acquire(a, op);
  case kv_verb::unlock:
    return release(a, op);
  case kv_verb::remove:
  case kv_verb::remove_cas: {
    const auto location = a.t.kv.locate(op.key);
    const auto old = kv_table::entry(location);
    if (!old)
      return {}; // also with an index that cannot match (docs/internals/pitfalls.md C8)
    if (op.verb == kv_verb::remove_cas && old->modify_index != op.index)
      return {key_outcome::refused};
    remove(a, location, op.key);
    return {};
  }
  case kv_verb::remove_tree:
    remove_tree(a, op.key);
    return {};
  default:
    break;
  }
  PRECONDITION(writes_keys(op.verb));
  return {};
}

bool lock_is_free(const applying& a, const std::string& key) {
  const auto entry = a.t.kv.find(key);
  return (!entry || entry->session.empty()) && !a.t.delays.blocked_until(key, a.now);
}

std::uint64_t grant_lock(applying& a, const claim_record& waiter) {
  const auto location = a.t.kv.locate(waiter.of.name);
  const auto old = kv_table::entry(location);
  PRECONDITION(!old || old->session.empty());
  PRECONDITION(waiter.of.space == claim_space::keys);
  PRECONDITION(!a.t.delays.blocked_until(waiter.of.name, a.now));
  kv_op op;
  op.verb = kv_verb::lock;
  op.key = waiter.of.name;
  op.value = waiter.value;
  op.flags = waiter.flags;
  return store(a, location, op, (old ? old->lock_index : 0) + 1, waiter.session, a.new_fence())->fence;
}

std::optional<std::string> session_id_error(std::string_view id) {
  if (id.empty())
    return "missing session";
  if (id.size() != 36)
    return "failed session lookup: index error: UUID must be 36 characters";
  return std::nullopt;
}

std::optional<cluster_time> delay_end(const session_record& holder, cluster_time now) {
  constexpr std::int64_t longest_ns = 60'000'000'000; // docs/contract/04, section 2.1: clamped when applied
  if (holder.lock_delay_ns <= 0)
    return std::nullopt;
  const auto delay_ns = static_cast<std::uint64_t>(std::min(holder.lock_delay_ns, longest_ns));
  // Rounded up to whole milliseconds: never shorter than requested.
  return cluster_time{now.value + (delay_ns + 999'999) / 1'000'000};
}

void orphan_key(applying& a, const std::string& key, const session_record& holder) {
  const auto location = a.t.kv.locate(key);
  const auto old = kv_table::entry(location);
  INVARIANT(old && old->session == holder.id);
  if (holder.behavior == session_behavior::remove && !MUTANT(delete_behavior_releases))
    remove(a, location, key);
  else {
    auto entry = *old;
    entry.session = {};
    entry.fence = 0;
    entry.modify_index = a.index;
    a.t.kv.put(location, entry);
    key_was_changed(a, key, !MUTANT(release_wakes_nobody));
  }
  a.look_at_lock(key);
  const auto until = delay_end(holder, a.now);
  if (!until)
    return;
  PROBE("kv: lock delay begins");
  a.t.delays.start(key, *until);
  a.changed.push_back(lock_delay_started{key, *until});
}

} // namespace belay::state
