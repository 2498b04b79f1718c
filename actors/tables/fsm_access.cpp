// fsm: ACLs. The state machine decides permissions; this file decides when they are checked, and
// creates the initial rows.

#include "actors/tables/fsm.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// Pause before the initial rows are proposed again. Their entry takes milliseconds, but raft_peer
// rejects it while a member lacks the feature level.
constexpr std::chrono::seconds initialize_again{1};
// How long reads wait for the initial rows: the time of a leader's first two attempts.
constexpr std::chrono::milliseconds begins_within{1200};
// The rules of each token may have to be compiled, which takes up to 0.5 ms.
constexpr std::size_t reauthorized_in_a_slice = 16;

} // namespace

state::feature_level level_in_tables(const state::machine& m) {
  // Otherwise a restart, while a member is down, would put the cluster back under the rules of
  // 0.2.0.
  if (m.has_client_rows() && !MUTANT(level_of_addresses_forgotten))
    return state::client_address_level;
  if (m.has_outcomes())
    return state::exactly_once_level;
  if (m.has_claims())
    return state::claims_level;
  return m.has_access_rows() ? state::acl_level : state::feature_level{0};
}

void fsm::wait_for_access(const read_query& q) {
  PROBE("fsm: read waits until ACLs are there");
  // The read may have waited a hold time for a leader, which now starts ACLs at once if possible.
  until_access_.emplace_back(q, now() + std::min(settings_.queue_timeout, begins_within));
}

/// Serves the reads that waited for ACLs. Some may now wait for something else.
void fsm::serve_authorized() {
  if (until_access_.empty() || !machine_->has_access_rows())
    return;
  const auto waited = std::exchange(until_access_, {});
  for (const auto& [q, deadline] : waited)
    serve(q);
}

bool fsm::answer_refusal(const read_query& q) {
  const auto& requested = q.request.query;
  if (!requested.by)
    return false;
  auto no = machine_->refuses(requested, cluster_now());
  if (!no)
    return false;
  reply_to(q, state::query_result{machine_->index_of(requested), std::move(*no)});
  return true;
}

/// Rejects the parked queries that are no longer permitted, in slices. The others keep waiting,
/// even if more rows are visible to them now. One that is woken before its turn is evaluated with
/// the new permissions.
void fsm::reauthorize_parked() {
  to_reauthorize_.clear();
  for (const auto& each : parked_)
    if (each.second.request.query.by)
      to_reauthorize_.push_back(each.first);
  reauthorize_some_parked();
  go_on_later();
}

void fsm::reauthorize_some_parked() {
  for (auto left = reauthorized_in_a_slice; left > 0 && !to_reauthorize_.empty(); --left) {
    const auto it = parked_.find(to_reauthorize_.back());
    to_reauthorize_.pop_back();
    if (it == parked_.end() || !answer_refusal(it->second))
      continue;
    PROBE("fsm: parked query refused when permissions changed");
    send(node_actors_->watch_registry, unpark_query{it->first});
    parked_.erase(it);
  }
  if (!to_reauthorize_.empty())
    PROBE("fsm: parked queries judged in slices");
}

void fsm::note_end_of_token(const read_query& q) {
  if (!q.request.query.by)
    return;
  if (const auto end = machine_->end_of_token(*q.request.query.by); !end.is_zero())
    ends_of_tokens_.insert(end);
}

/// A token may expire without an entry: its row stays until the next one.
void fsm::reauthorize_when_a_token_ends() {
  if (ends_of_tokens_.empty() || *ends_of_tokens_.begin() > cluster_now())
    return;
  PROBE("fsm: parked queries judged when a token ended");
  ends_of_tokens_.erase(ends_of_tokens_.begin(), ends_of_tokens_.upper_bound(cluster_now()));
  reauthorize_parked();
}

bool fsm::has_master_token() {
  if (settings_.master_token.empty())
    return true;
  state::query q = state::permissions_read{};
  q.by = state::auth_context{settings_.master_token, false, {}};
  return !machine_->refuses(q, cluster_now());
}

/// Done once per term of this server: what clients remove stays removed until another one leads.
void fsm::initialize_access() {
  if (!settings_.acl_enabled || !view_.serving || access_ready_in_ == view_.soft.term)
    return;
  if (machine_->has_access_rows() && has_master_token()) {
    access_ready_in_ = view_.soft.term;
    return;
  }
  if (now() < next_initialize_)
    return;
  next_initialize_ = now() + initialize_again;
  state::acl_initialize begin;
  begin.master_secret = settings_.master_token;
  begin.master_accessor = settings_.uuid();
  begin.time_ns = static_cast<std::int64_t>(settings_.wall_clock().value) * 1'000'000;
  send(node_actors_->raft_peer, propose_internal{view_.soft.term, make_payload(wire::encode_command(begin))});
}

} // namespace belay::actors
