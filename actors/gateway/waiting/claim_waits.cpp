#include "actors/gateway/waiting/claim_waits.hpp"

#include "actors/gateway/requests/answers.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/http/claims/claim_render.hpp"
#include "protocol/state/feature_levels.hpp"

#include <utility>

namespace belay::actors {

namespace {

constexpr auto never_decided = "the acquire still waits in the queue; whether it is granted is not known here";

bool is_acquire(const exchange& e) {
  const auto* command = std::get_if<state::command>(&e.what);
  return command != nullptr && std::holds_alternative<state::kv_acquire>(*command);
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

// The deadline of an acquire is in the state: only the entry that grants or ends it decides, however late that comes. A claim goes on
// waiting without its request.
monotonic_time claim_waits::end_of(const exchange& e) const {
  return is_acquire(e) ? e.wait_until + times_.hold : e.wait_until;
}

bool claim_waits::begin(exchange& e, const write_result& r, monotonic_time now) {
  const auto* waiting = waiting_of(r);
  if (waiting == nullptr || !(is_acquire(e) || is_claim(e)) || now >= end_of(e) || e.input_ended)
    return false;
  PROBE("gateway: a claim waits in its queue");
  e.load = 0; // it may wait for minutes
  ask(e, {waiting->of, waiting->id}, r.index, now);
  return true;
}

void claim_waits::ask(exchange& e, state::claim_status what, log_index asked_at, monotonic_time now) {
  const auto end = std::max(end_of(e), now);
  e.in_queue = true;
  read_query q{pending_.add(e, times_.due(end)), {}, end};
  q.request.query = std::move(what);
  q.request.query.by = e.by;
  q.request.mode = http::consistency::stale; // whatever is applied here: a grant that is seen is one
  q.request.min_index = asked_at.value;
  q.until_decided = true;
  out_.post(std::move(q));
}

void claim_waits::answered(exchange& e, const read_result& r, monotonic_time now) {
  e.in_queue = false;
  if (auto no = refusal_in(r)) {
    e.answer = std::move(*no);
    return;
  }
  const auto* result = r.found();
  const auto& standing = std::get<state::claim_standing>(result->data);
  const bool waits = standing.live && standing.live->state == state::claim_state::waiting;
  if (waits && now < end_of(e) && !e.input_ended) {
    PROBE("gateway: a claim waits on after a restore");
    return ask(e, {standing.live->of, standing.live->id}, result->index, now);
  }
  e.answer = waits && is_acquire(e) && !MUTANT(waiting_acquire_told_granted)
                 ? http::error_response(500, never_decided)
                 : http::render_wait(std::get<state::command>(e.what), standing, e.options, r.session_ttl_ms);
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
