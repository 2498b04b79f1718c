#include "actors/gateway/waiting/claim_waits.hpp"

#include "actors/gateway/requests/answers.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/http/claims/claim_render.hpp"
#include "protocol/state/feature_levels.hpp"

#include <utility>

namespace belay::actors {

namespace {

constexpr auto never_decided = "the acquire still waits in the queue; its outcome is unknown here";

// Limit for keys, including per-row memory. Beyond it the oldest row is dropped, and its acquire
// waits until its deadline. Results arrive within seconds, so the acquires in progress stay far
// below this limit.
constexpr std::size_t lone_bytes_max = 16u << 20, lone_row_bytes = 256;

const state::kv_acquire* acquire_of(const exchange& e) {
  const auto* command = std::get_if<state::command>(&e.what);
  return command != nullptr ? std::get_if<state::kv_acquire>(command) : nullptr;
}

bool is_acquire(const exchange& e) {
  return acquire_of(e) != nullptr;
}

bool is_claim(const exchange& e) {
  const auto* command = std::get_if<state::command>(&e.what);
  return command != nullptr && std::holds_alternative<state::claim_ask>(*command);
}

const state::claim_answer* waiting_of(const write_result& r) {
  if (r.outcome != wire::call_outcome::done)
    return nullptr;
  const auto* claim = std::get_if<state::claim_answer>(&r.reply);
  return claim != nullptr && claim->state == state::claim_state::waiting ? claim : nullptr;
}

} // namespace

// The deadline of an acquire is in the state: only the entry that grants or ends it decides,
// however late. A claim keeps waiting without its request.
monotonic_time claim_waits::end_of(const exchange& e) const {
  return is_acquire(e) ? e.wait_until + times_.queue_timeout : e.wait_until;
}

bool claim_waits::begin(exchange& e, const write_result& r, monotonic_time now) {
  const auto* waiting = waiting_of(r);
  if (waiting != nullptr)
    e.requested_at = waiting->index;
  if (const auto* a = acquire_of(e); a != nullptr && waiting != nullptr) {
    out_.post(wait_changed{{a->op.key, a->op.session, e.requested_at}});
    note_disconnect(e);
  }
  if (waiting == nullptr || !(is_acquire(e) || is_claim(e)) || now >= end_of(e) || e.input_ended)
    return false;
  PROBE("gateway: a claim waits in its queue");
  e.load = 0; // it may wait for minutes
  ask(e, {waiting->of, waiting->id}, r.index, now);
  return true;
}

void claim_waits::ask(exchange& e, state::claim_status what, log_index requested_at, monotonic_time now) {
  const auto end = std::max(end_of(e), now);
  e.in_queue = true;
  read_query q{pending_.add(e, times_.due(end)), {}, end};
  q.request.query = std::move(what);
  q.request.query.by = e.by;
  q.request.mode = http::consistency::stale; // whatever is applied here: a grant that is seen is valid
  q.request.min_index = requested_at.value;
  q.until_decided = true;
  out_.post(std::move(q));
}

void claim_waits::answered(exchange& e, const read_result& r, monotonic_time now) {
  e.in_queue = false;
  if (auto no = refusal_in(r)) {
    note_disconnect(e);
    e.answer = std::move(*no);
    return;
  }
  const auto* result = r.found();
  const auto& standing = std::get<state::claim_standing>(result->data);
  const bool waits = standing.live && standing.live->state == state::claim_state::waiting;
  if (waits && now < end_of(e) && !e.input_ended) {
    PROBE("gateway: a claim waits on after a restore");
    e.requested_at = standing.live->index; // index of the restored row
    return ask(e, {standing.live->of, standing.live->id}, result->index, now);
  }
  if (waits)
    note_disconnect(e);
  e.answer = waits && is_acquire(e) && !MUTANT(waiting_acquire_told_granted)
                 ? http::error_response(500, never_decided)
                 : http::render_wait(std::get<state::command>(e.what), standing, e.options, r.session_ttl_ms);
}

void claim_waits::asks(const state::command& c) {
  if (const auto* a = std::get_if<state::kv_acquire>(&c); a != nullptr && a->wait_ms != 0)
    out_.post(wait_changed{{a->op.key, a->op.session, {}}});
}

/// Reports that the client of a waiting request may have closed its connection.
void claim_waits::note_disconnect(const exchange& e) {
  if (!e.disconnected)
    return;
  if (const auto* a = acquire_of(e)) {
    PROBE("gateway: a client disconnected while it waited for a lock");
    out_.post(wait_changed{{a->op.key, a->op.session, e.requested_at}, true, e.wait_until});
  } else if (const auto* c = std::get_if<state::command>(&e.what);
             c != nullptr && MUTANT(disconnect_withdraws_claims)) {
    if (const auto* claim = std::get_if<state::claim_ask>(c))
      out_.post(wait_changed{{claim->name, claim->id, e.requested_at}, true, e.wait_until});
  }
}

void claim_waits::forgotten(const exchange& e) {
  const auto* a = acquire_of(e);
  if (e.in_queue)
    return note_disconnect(e);
  if (!e.disconnected || a == nullptr || a->wait_ms == 0 || e.in_delay || e.access.requested ||
      pending_.find(e.id) != &e)
    return;
  PROBE("gateway: a client disconnected before it was known whether it waits");
  lone_[e.id] = {a->op.key, a->op.session, e.wait_until};
  lone_bytes_ += a->op.key.size() + lone_row_bytes;
  while (lone_bytes_ > lone_bytes_max)
    take_lone(lone_.begin()->first); // ids rise
}

std::optional<claim_waits::lone_acquire> claim_waits::take_lone(request_id id) {
  auto lone = lone_.extract(id);
  if (lone.empty())
    return std::nullopt;
  lone_bytes_ -= lone.mapped().key.size() + lone_row_bytes;
  return std::move(lone.mapped());
}

void claim_waits::decided_late(const write_result& r) {
  const auto lone = take_lone(r.id);
  const auto* waiting = waiting_of(r);
  if (lone && waiting != nullptr)
    out_.post(wait_changed{{lone->key, lone->session, waiting->index}, true, lone->until});
}

bool claim_waits::make_plain(exchange& e, const write_result& r) {
  auto* command = std::get_if<state::command>(&e.what);
  const auto* acquire = command != nullptr ? std::get_if<state::kv_acquire>(command) : nullptr;
  if (acquire == nullptr || acquire->fence || acquire->refuse_deadlock || r.outcome != wire::call_outcome::refused ||
      !state::speaks_of_levels(r.text))
    return false;
  PROBE("gateway: an acquire is asked for in words of before claims");
  state::command plain = state::kv_write{acquire->op};
  plain.by = command->by;
  *command = std::move(plain);
  return true;
}

} // namespace belay::actors
