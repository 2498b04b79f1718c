// http_gateway: snapshots on their way out and in (docs/contract/11). A download is a consistent read of everything, as of a
// checkpoint written for it. An upload becomes entries of the log, one after the other.

#include "actors/gateway/http_gateway.hpp"
#include "actors/refusal_texts.hpp"
#include "protocol/http/render.hpp"
#include "protocol/wire/command_codec.hpp"

namespace belay::actors {

// ---- download

void http_gateway::begin_save(http_connection& c, exchange& e, const http::snapshot_save& s) {
  if (!s.stale && view_known_ && leader_address(view_).empty()) {
    e.answer = http::error_response(500, no_leader);
    return;
  }
  e.deadline = now() + settings_.hold + settings_.answer_slack;
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->archive = new_id(c, e);
  read_query q{e.id, {}, {}};
  q.request.mode = s.stale ? http::consistency::stale : http::consistency::consistent;
  q.archive = true;
  send(wires_->fsm, std::move(q));
}

void http_gateway::on_checkpointed(http_connection& c, exchange& e, const read_result& r) {
  if (const auto* failed = std::get_if<failure>(&r.answer)) {
    e.answer = http::error_response(500, failed->text);
    return;
  }
  e.last_contact_ms = r.last_contact_ms;
  e.known_leader = r.known_leader;
  next_piece(c, e);
}

void http_gateway::next_piece(http_connection& c, exchange& e) {
  e.transfer->asked = true;
  send(wires_->checkpoints, pack_archive{new_id(c, e), e.transfer->archive});
}

void http_gateway::on_packed(archive_packed& p) {
  if (auto* e = settle(p.id)) {
    auto& t = *e->transfer;
    t.asked = false;
    t.piece = std::move(p.bytes);
    t.ended = p.last;
    t.failed = !p.error.empty();
    if (!t.streaming) {
      t.streaming = p.error.empty();
      e->answer = t.streaming ? http::render_snapshot_head(p.index, {e->last_contact_ms, e->known_leader})
                              : http::error_response(500, p.error);
    }
  }
  progress_touched();
}

// ---- upload

void http_gateway::begin_restore(http_connection& c, exchange& e) {
  auto& t = *e.transfer;
  t.restore_id = settings_.uuid();
  t.archive = request_id{};
  unpack_more(c, e);
}

void http_gateway::body_arrived(http_connection& c, exchange& e) {
  if (e.sent && e.transfer->starved)
    unpack_more(c, e);
}

void http_gateway::unpack_more(http_connection& c, exchange& e) {
  auto& t = *e.transfer;
  t.starved = t.body.empty() && !t.body_complete;
  if (t.starved) { // the connection closes if the client stalls
    e.deadline = monotonic_time::max();
    return;
  }
  e.deadline = now() + settings_.hold + settings_.answer_slack;
  unpack_archive u;
  u.id = new_id(c, e);
  if (t.archive.is_zero())
    t.archive = u.id;
  u.archive = t.archive;
  u.restore_id = t.restore_id;
  u.last = t.body_complete;
  u.bytes = std::exchange(t.body, {});
  send(wires_->checkpoints, std::move(u));
}

void http_gateway::on_unpacked(archive_unpacked& u) {
  auto* c = connection_of(u.id);
  if (auto* e = settle(u.id)) {
    auto& t = *e->transfer;
    if (!u.error.empty()) {
      end_restore(*e, u.error);
    } else if (u.command == nullptr) {
      // All that was there is used up; what came meanwhile goes on at once.
      unpack_more(*c, *e);
    } else {
      t.command = u.command;
      t.committing = u.last;
      t.begun = true;
      t.retry_until = now() + settings_.hold;
      propose_part(*c, *e);
    }
  }
  progress_touched();
}

void http_gateway::propose_part(http_connection& c, exchange& e) {
  e.deadline = now() + settings_.hold + settings_.answer_slack;
  send(wires_->raft_peer, propose_write{new_id(c, e), e.transfer->command});
}

void http_gateway::on_part_decided(http_connection& c, exchange& e, write_result& r) {
  auto& t = *e.transfer;
  if (r.outcome != wire::call_outcome::done) {
    // Each part may be proposed again: the state machine knows which ones it has.
    if (r.outcome == wire::call_outcome::unknown && now() < t.retry_until)
      return propose_part(c, e);
    return end_restore(e, std::move(r.text));
  }
  if (const auto* no = std::get_if<state::refusal>(&r.reply))
    return end_restore(e, no->text);
  if (t.committing) {
    e.answer.emplace();
    e.answer->headers.emplace_back("X-Belay-Index", to_string(r.index));
    return;
  }
  unpack_more(c, e);
}

/// Its client is gone, or will be told why. What was gathered for a restore is dropped, unless it was put in force.
void http_gateway::abandon(exchange& e) {
  auto& t = *e.transfer;
  send(wires_->checkpoints, close_archive{t.archive});
  if (std::holds_alternative<http::snapshot_save>(e.what))
    send(wires_->fsm, cancel_query{t.archive});
  if (std::exchange(t.begun, false)) {
    // Nobody waits for the answer: a number that no exchange has.
    send(wires_->raft_peer,
         propose_write{ids_.next(), make_payload(wire::encode_command(state::restore_abort{t.restore_id}))});
  }
}

void http_gateway::end_restore(exchange& e, std::string text) {
  abandon(e);
  e.answer = http::error_response(500, std::move(text));
}

} // namespace belay::actors
