#include "actors/gateway/requests/archive_transfers.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/http/render.hpp"
#include "protocol/state/feature_levels.hpp"
#include "protocol/wire/command_codec.hpp"

#include <utility>

namespace belay::actors {

// ---- download

void archive_transfers::begin_save(exchange& e, const http::snapshot_save& s, bool leaderless, monotonic_time now) {
  if (!s.stale && leaderless) {
    e.answer = http::error_response(500, forward::no_leader);
    return;
  }
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->archive = pending_.add(e, times_.due(now));
  read_query q{e.id, {}, {}};
  q.request.mode = s.stale ? http::consistency::stale : http::consistency::consistent;
  q.archive = true;
  out_.post(std::move(q));
}

void archive_transfers::read_answered(exchange& e, const read_result& r, monotonic_time now) {
  const auto* failed = std::get_if<failure>(&r.answer);
  if (const auto& begins = e.transfer->begins) {
    if (failed != nullptr)
      return end_restore(e, failed->text);
    // The token may have lost its permission since a server that was behind accepted the request.
    state::command begin = *begins;
    begin.by = e.by;
    out_.post(check_write{pending_.add(e, times_.due(now)), std::move(begin)});
    return;
  }
  if (failed != nullptr) {
    e.answer = http::error_response(500, failed->text);
    return;
  }
  e.last_contact_ms = r.last_contact_ms;
  e.known_leader = r.known_leader;
  next_piece(e);
}

void archive_transfers::next_piece(exchange& e) {
  e.transfer->requested = true;
  out_.post(pack_archive{pending_.add(e), e.transfer->archive});
}

void archive_transfers::packed(archive_packed& p) {
  auto* e = pending_.settle(p.id);
  if (e == nullptr)
    return;
  auto& t = *e->transfer;
  t.requested = false;
  t.piece = std::move(p.bytes);
  t.ended = p.last;
  t.failed = !p.error.empty();
  if (!t.streaming) {
    t.streaming = p.error.empty();
    e->answer = t.streaming ? http::render_snapshot_head(p.index, {e->last_contact_ms, e->known_leader})
                            : http::error_response(500, p.error);
  }
}

// ---- upload

void archive_transfers::begin_restore(exchange& e, std::string restore_id, monotonic_time now) {
  auto& t = *e.transfer;
  if (!restoring_.expired()) {
    e.answer = http::error_response(
        500, "another snapshot is being restored through this server: try again when it has ended");
    return;
  }
  t.ticket = std::make_shared<char>();
  restoring_ = t.ticket;
  t.restore_id = std::move(restore_id);
  t.archive = request_id{};
  unpack_more(e, now);
}

void archive_transfers::body_arrived(exchange& e, monotonic_time now) {
  if (e.sent && e.transfer->starved)
    unpack_more(e, now);
}

void archive_transfers::unpack_more(exchange& e, monotonic_time now) {
  auto& t = *e.transfer;
  t.starved = t.body.empty() && !t.body_complete;
  if (t.starved) { // the connection closes if the client stalls
    e.deadline = monotonic_time::max();
    return;
  }
  unpack_archive u;
  u.id = pending_.add(e, times_.due(now));
  if (t.archive.is_zero())
    t.archive = u.id;
  u.archive = t.archive;
  u.restore_id = t.restore_id;
  u.by = e.by;
  u.last = t.body_complete;
  u.bytes = std::exchange(t.body, {});
  out_.post(std::move(u));
}

void archive_transfers::unpacked(const archive_unpacked& u, monotonic_time now) {
  auto* e = pending_.settle(u.id);
  if (e == nullptr)
    return;
  if (!u.error.empty())
    return abort_restore(*e, u.error, now);
  if (u.command == nullptr) // all input is consumed; continue with what arrived meanwhile
    return unpack_more(*e, now);
  auto& t = *e->transfer;
  t.command = u.command;
  t.begins = u.begins;
  t.committing = u.last;
  t.begun = true;
  t.retry_until = now + times_.queue_timeout;
  propose_part(*e, now);
}

void archive_transfers::propose_part(exchange& e, monotonic_time now) {
  const auto id = pending_.add(e, times_.due(now));
  if (!e.transfer->begins) {
    out_.post(propose_write{id, e.transfer->command});
    return;
  }
  // Reads whether another restore is in progress from tables that have everything decided before
  // this request. A follower may not know yet that one has ended.
  read_query q{id, {}, {}};
  q.request.mode = http::consistency::consistent;
  out_.post(std::move(q));
}

void archive_transfers::part_decided(exchange& e, write_result& r, monotonic_time now) {
  auto& t = *e.transfer;
  if (!t.refused_for.empty())
    return end_restore(e, std::move(t.refused_for));
  if (r.outcome != wire::call_outcome::done) {
    // Each part may be proposed again: the state machine knows which ones it has.
    if (r.outcome == wire::call_outcome::unknown && now < t.retry_until) {
      PROBE("gateway: part of a restore proposed again");
      return propose_part(e, now);
    }
    return state::speaks_of_levels(r.text) ? abort_restore(e, std::move(r.text), now)
                                           : end_restore(e, std::move(r.text));
  }
  if (const auto* no = std::get_if<state::refusal>(&r.reply); no != nullptr && !MUTANT(refused_restore_goes_on))
    return abort_restore(e, no->text, now);
  if (t.committing) {
    t.ticket.reset();
    e.answer.emplace();
    e.answer->headers.emplace_back("X-Belay-Index", to_string(r.index));
    return;
  }
  unpack_more(e, now);
}

// ---- ending

void archive_transfers::abandon(exchange& e) {
  auto& t = *e.transfer;
  out_.post(close_archive{t.archive});
  if (std::holds_alternative<http::snapshot_save>(e.what))
    out_.post(cancel_query{t.archive});
  if (std::exchange(t.begun, false))
    propose_abort(t, pending_.unclaimed_id());
}

void archive_transfers::propose_abort(const snapshot_transfer& t, request_id id) {
  out_.post(propose_write{id, make_payload(wire::encode_command(state::restore_abort{t.restore_id}))});
}

/// Answers only when nothing of the restore is left, so that the client can retry at once.
void archive_transfers::abort_restore(exchange& e, std::string text, monotonic_time now) {
  auto& t = *e.transfer;
  if (!std::exchange(t.begun, false))
    return end_restore(e, std::move(text));
  t.refused_for = std::move(text);
  propose_abort(t, pending_.add(e, times_.due(now)));
}

void archive_transfers::end_restore(exchange& e, std::string text) {
  abandon(e);
  e.transfer->ticket.reset();
  e.answer = state::speaks_of_levels(text) ? http::error_response(409, std::move(text))
                                           : http::refusal_response(std::move(text));
}

} // namespace belay::actors
