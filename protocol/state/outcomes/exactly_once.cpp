#include "protocol/state/outcomes/exactly_once.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/empty_payload.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

namespace {

// The same limit as for claims; each entry adds at most one.
constexpr int forgotten_at_once_max = 1000;

/// The reply as it is encoded, so that a row in memory equals the row loaded from a checkpoint.
reply as_encoded(reply answer) {
  auto* results = std::get_if<txn_reply>(&answer);
  if (results == nullptr)
    return answer;
  for (auto& each : results->results)
    if (auto* entry = std::get_if<kv_entry_ptr>(&each.row); entry != nullptr) {
      auto bare = **entry;
      if (!each.with_value)
        bare.value = empty_payload();
      bare.fence = 0;
      *entry = bare;
    }
  return answer;
}

reply sent_again(const outcome_record& row) {
  PROBE("once: answered from what is kept");
  auto answer = *row.answer;
  answer.decided_at = row.index;
  return answer;
}

outcome_record new_row(const applying& a, const std::string& scope, const std::string& id) {
  outcome_record row;
  row.key = outcome_key(scope, id);
  row.scope = scope;
  row.id = id;
  row.index = a.index;
  row.until.value = a.now.value + outcome_kept_ms;
  return row;
}

} // namespace

std::optional<std::string> scope_of(const tables& t, const std::optional<auth_context>& by, cluster_time now) {
  if (!by || MUTANT(once_scope_ignored))
    return std::string();
  const auto token = t.acls.token_with_secret(by->secret);
  if (token == nullptr)
    return by->secret == anonymous_secret ? std::optional(std::string(anonymous_accessor)) : std::nullopt;
  return token->expires.is_zero() || token->expires > now ? std::optional(token->accessor) : std::nullopt;
}

std::optional<reply> known_outcome(const tables& t, const std::string& scope, const once_request& once) {
  const auto row = t.outcomes.find(scope, once.key);
  if (row == nullptr)
    return std::nullopt;
  if (row->answer == nullptr) {
    PROBE("once: a sealed write came");
    return MUTANT(seal_forgets) ? std::nullopt : std::optional(reply{once_refusal{once_error::sealed, {}}});
  }
  if (row->print != once.print && !MUTANT(once_fingerprint_ignored))
    return reply{once_refusal{once_error::other_request, {}}};
  return sent_again(*row);
}

std::optional<reply> not_accepted(const applying& a, const std::string& scope, const std::string& key,
                                  cluster_time requested) {
  if (!is_once_key(key))
    return reply{once_refusal{once_error::key, {}}};
  // A time in the future was not given by a server of this cluster.
  if ((requested > a.now || requested.value + copy_accepted_ms <= a.now.value) && !MUTANT(once_old_copy_accepted)) {
    PROBE("once: a copy came too late");
    return reply{once_refusal{once_error::too_old, a.now}};
  }
  if (a.t.outcomes.is_full(scope, a.secret != nullptr) && !MUTANT(outcomes_without_bound))
    return reply{once_refusal{once_error::full, {}}};
  return std::nullopt;
}

void keep_outcome(applying& a, const std::string& scope, const once_request& once, const reply& answer) {
  if (const auto* yes = std::get_if<bool>(&answer); yes != nullptr && !*yes && MUTANT(once_false_not_kept))
    return;
  auto row = new_row(a, scope, once.key);
  row.print = once.print;
  row.answer = std::make_shared<const reply>(as_encoded(answer));
  const auto kept_before = a.t.outcomes.rows().size();
  a.t.outcomes.put(std::make_shared<const outcome_record>(std::move(row)));
  INVARIANT(a.t.outcomes.rows().size() == kept_before + 1); // a kept outcome is not replaced
}

reply seal_outcome(applying& a, const std::string& scope, const outcome_seal& c) {
  if (const auto row = a.t.outcomes.find(scope, c.key)) {
    reply found;
    found.decided_at = row->index;
    return row->answer != nullptr ? sent_again(*row) : found;
  }
  if (auto no = not_accepted(a, scope, c.key, c.requested))
    return std::move(*no);
  PROBE("once: sealed before it took effect");
  const auto kept_before = a.t.outcomes.rows().size();
  a.t.outcomes.put(std::make_shared<const outcome_record>(new_row(a, scope, c.key)));
  INVARIANT(a.t.outcomes.rows().size() == kept_before + 1);
  reply sealed;
  sealed.decided_at = a.index;
  return sealed;
}

/// The size as encoded, without copies of the rows.
bool is_too_large(const reply& answer) {
  auto bytes = outcome_bytes(answer);
  if (const auto* results = std::get_if<txn_reply>(&answer))
    for (const auto& each : results->results)
      if (const auto* entry = std::get_if<kv_entry_ptr>(&each.row); entry != nullptr && !each.with_value)
        bytes -= (*entry)->value->size();
  return bytes > kept_answer_bytes_max;
}

void forget_outcomes(applying& a) {
  const cluster_time over{a.now.value + (MUTANT(outcome_forgotten_early) ? outcome_kept_ms - copy_accepted_ms / 2 : 0)};
  for (int n = 0; n < forgotten_at_once_max; ++n) {
    const auto first = a.t.outcomes.first_due();
    if (first == nullptr || first->until > over)
      return;
    PROBE("once: an outcome is forgotten");
    a.t.outcomes.erase(first->key);
  }
}

} // namespace belay::state
