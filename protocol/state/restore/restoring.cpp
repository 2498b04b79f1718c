#include "protocol/state/restore/restoring.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/state/keys/key_operations.hpp"
#include "protocol/state/restore/restored_claims.hpp"

#include <algorithm>

namespace belay::state {

namespace {

// Sums of two such numbers do not overflow, and no number of writes reaches it.
constexpr std::uint64_t fence_max = 1ULL << 62;
// docs/contract/04, section 3.5: the longest lock delay. Another cluster's clock may be ahead.
constexpr std::uint64_t delay_ms_max = 60'000;
constexpr std::int64_t ns_per_ms = 1'000'000;

template <record_pointer Pointer>
Pointer with_indexes_up_to(Pointer row, log_index newest) {
  if (row->create_index <= newest && row->modify_index <= newest)
    return row;
  auto lowered = *row;
  lowered.create_index = std::min(lowered.create_index, newest);
  lowered.modify_index = std::min(lowered.modify_index, newest);
  if constexpr (std::is_same_v<Pointer, kv_entry_ptr>)
    return lowered;
  else
    return std::make_shared<record_type<Pointer>>(std::move(lowered));
}

class restorer {
public:
  restorer(const tables& old, std::optional<restored_rows> ahead, log_index index, cluster_time now)
      : old_(old), index_(index), now_(now), rows_(ahead ? std::move(*ahead) : restored_rows()),
        fresh_(rows_.fresh.get()), claims_(old, *fresh_), keys_are_there_(ahead.has_value()) {}

  std::unique_ptr<tables> run(effects& changed) {
    if (!keys_are_there_)
      old_.stage.for_each_batch([this](const row_batch& batch) {
        for (auto row : *batch) {
          if (auto* key = std::get_if<kv_entry_ptr>(&row.row))
            lower(*key);
          rows_.take(row);
        }
      });
    for (auto& row : rows_.others)
      take(std::move(row));
    fresh_->log.loading(false);
    fresh_->stage.note_in_force(old_.stage.head()->id, now_);
    fresh_->indexes.set(index_kind::restored, index_);
    drop_dangling();
    raise_fence_base();
    changed.push_back(everything_changed{true, index_});
    applying a{*fresh_, index_, now_, changed};
    if (claims_.in_use()) {
      fresh_->indexes.set(index_kind::claims, index_);
      const auto last = [](const tables& t) { return std::min(t.indexes.at(index_kind::last_fence).value, fence_max); };
      fresh_->indexes.set(index_kind::last_fence, log_index{std::max(last(old_), last(*fresh_))});
    }
    grant_again(a);
    keep_delays();
    fresh_->sessions.rows().for_each_under("", [&](const session_ptr& s) {
      changed.push_back(session_changed{s, true});
    });
    if (claims_.in_use())
      claims_.run(a);
    keep_outcomes();
    return std::move(rows_.fresh);
  }

private:
  void take(dirty_row row) {
    std::visit([&](auto& each) { lower(each); }, row.row);
    if (const auto* delay = std::get_if<lock_delay_record>(&row.row); delay != nullptr && delay->until <= now_)
      return;
    if (auto* token = std::get_if<acl_token_ptr>(&row.row); token != nullptr && !outlives_restore(*token))
      return;
    if (std::visit([this](const auto& each) { return name_is_taken(each); }, row.row) || claims_.take(row))
      return;
    if (auto* outcome = std::get_if<outcome_ptr>(&row.row)) {
      outcomes_.push_back(std::move(*outcome));
      return;
    }
    if (row.table != table::staging && !std::holds_alternative<std::monostate>(row.row))
      fresh_->restore(std::move(row));
  }

  void lower(std::monostate) const {}
  void lower(staged_ptr&) const {}
  template <record_pointer Pointer>
  void lower(Pointer& row) const {
    if constexpr (requires { row->modify_index; })
      row = with_indexes_up_to(std::move(row), index_);
  }
  void lower(tombstone& row) const {
    row.index = std::min(row.index, index_);
    row.tree_index = std::min(row.tree_index, row.index);
  }
  void lower(lock_delay_record& row) const { row.until.value = std::min(row.until.value, now_.value + delay_ms_max); }
  template <class Record>
  void lower(Record&) const {}
  void lower(counter& row) const {
    const bool of_fences = row.name == name_of(index_kind::fence_base) || row.name == name_of(index_kind::last_fence);
    row.value = std::min(row.value, of_fences ? fence_max : index_.value);
  }

  /// Its expiry is by the clock of the archive's cluster, maybe another one: caps the lifetime.
  /// @returns false: it has expired
  bool outlives_restore(acl_token_ptr& token) const {
    if (token->expires.is_zero())
      return true;
    const auto whole_ms = std::max<std::int64_t>(0, (token->expiration_time_ns - token->create_time_ns) / ns_per_ms);
    const cluster_time latest{now_.value + static_cast<std::uint64_t>(whole_ms)};
    if (token->expires > latest) {
      auto shortened = std::make_shared<acl_token>(*token);
      shortened->expires = latest;
      token = std::move(shortened);
    }
    return token->expires > now_;
  }

  /// Whether another policy, role or token has its name or secret: only in forged archives.
  template <class Row>
  bool name_is_taken(const Row& row) const {
    if constexpr (requires { fresh_->acls.taken(*row); })
      return fresh_->acls.taken(*row);
    else
      return false;
  }

  void drop_dangling() {
    std::vector<std::string> services, checks;
    for (const auto& each : fresh_->catalog.services())
      if (!fresh_->catalog.find_node(each.value.row->node))
        services.push_back(each.key());
    for (const auto& each : fresh_->catalog.checks())
      if (!fresh_->catalog.find_node(each.value.row->node))
        checks.push_back(each.key());
    for (const auto& key : services)
      fresh_->catalog.erase_service(key);
    for (const auto& key : checks)
      fresh_->catalog.erase_check(key);
  }

  /// Makes new grants exceed all of this cluster, and all of the archive's cluster until then.
  void raise_fence_base() {
    const auto own = old_.indexes.at(index_kind::fence_base).value;
    const auto archive_newest =
        fresh_->indexes.at(index_kind::fence_base).value + std::min(old_.stage.head()->archive_index.value, fence_max);
    const auto needed = archive_newest >= index_.value ? archive_newest + 1 - index_.value : 0;
    fresh_->indexes.set(index_kind::fence_base, log_index{std::max(own, needed)});
  }

  /// The lock may have had other holders since the archive was written.
  void grant_again(applying& a) {
    for (const auto& key : rows_.locked) {
      const auto e = fresh_->kv.find(key);
      if (!e || (e->session.empty() && e->fence == 0)) // if a key has several rows, the last one counts
        continue;
      const auto now_held = old_.kv.find(e->key);
      const bool newest = now_held && now_held->session == e->session && now_held->fence == e->fence;
      const bool lives = fresh_->sessions.rows().find(e->session) != nullptr;
      if (newest && lives && e->fence != 0)
        continue;
      auto changed = *e;
      changed.fence = lives ? a.new_fence() : 0;
      if (!lives)
        changed.session = {};
      fresh_->kv.put(changed);
    }
  }

  /// Keeps outcomes that clients have received. Adds those of the archive, which happened before
  /// it was written: copies may still be in transit to a cluster that is created from it.
  void keep_outcomes() {
    constexpr std::string_view all = "", none = " "; // no key begins with a space
    old_.outcomes.rows().for_each_under(MUTANT(restore_forgets_outcomes) ? none : all,
                                        [&](const outcome_ptr& row) { fresh_->outcomes.put(row); });
    for (const auto& archived : outcomes_) {
      if (fresh_->outcomes.find(archived->scope, archived->id) || fresh_->outcomes.is_full(archived->scope, false))
        continue;
      auto row = std::make_shared<outcome_record>(*archived);
      row->index = std::min(row->index, index_);
      row->until.value = now_.value + outcome_kept_ms;
      fresh_->outcomes.put(std::move(row));
    }
  }

  void keep_delays() {
    old_.delays.rows().for_each_under("", [&](const lock_delay_record& d) { delay_until(d.key, d.until); });
    old_.kv.for_each_held([&](const kv_entry_ptr& e) {
      const auto after = fresh_->kv.find(e->key);
      const auto holder = old_.sessions.find(e->session);
      if (!holder || (after && after->session == e->session))
        return;
      if (const auto until = delay_end(*holder, now_))
        delay_until(e->key, *until);
    });
  }

  void delay_until(std::string_view key, cluster_time until) {
    const auto known = fresh_->delays.blocked_until(key, now_);
    if (until > now_ && (!known || *known < until))
      fresh_->delays.start(key, until);
  }

  const tables& old_;
  log_index index_;
  cluster_time now_;
  restored_rows rows_;
  tables* const fresh_; ///< those of rows_
  claims_restorer claims_;
  bool keys_are_there_;
  std::vector<outcome_ptr> outcomes_; ///< outcomes in the archive
};

} // namespace

std::unique_ptr<tables> restored(const tables& old, std::optional<restored_rows> ahead, log_index index,
                                 cluster_time now, effects& changed) {
  return restorer(old, std::move(ahead), index, now).run(changed);
}

} // namespace belay::state
