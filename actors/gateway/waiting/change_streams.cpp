#include "actors/gateway/waiting/change_streams.hpp"

#include "actors/gateway/requests/answers.hpp"
#include "protocol/acl/authorizer.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/http/kv/change_render.hpp"

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

using wanted = state::kv_changes::what;

const state::change_rows* rows_of(const state::query_result& r) {
  return std::get_if<state::change_rows>(&r.data);
}

state::kv_changes& changes_in(state::query& q) {
  return std::get<state::kv_changes>(q);
}

/// @param history of `after`, if a client has given it; that of this server needs no check
state::query asking(state::query q, wanted what, state::change_position after, state::history_id history = {}) {
  changes_in(q).requested = what;
  changes_in(q).after = after;
  changes_in(q).history = history;
  return q;
}

/// Why a client has to start over. @pre rows.gone
std::string why_gone(const state::change_rows& rows) {
  return rows.other_history ? "history" : "not-retained";
}

/// Progress comes after the changes, so that no change before it is missed.
std::string with_progress(std::string changes, const std::string& progress) {
  return MUTANT(progress_before_its_events) ? progress + changes : std::move(changes += progress);
}

/// Whether both see the same keys.
bool see_the_same(const std::shared_ptr<const acl::authorizer>& a, const std::shared_ptr<const acl::authorizer>& b) {
  return a == b || (a != nullptr && b != nullptr && a->sees_same_keys(*b));
}

} // namespace

/// Two streams with the same key get the same bytes.
std::string change_streams::key_of(const http::change_stream& requested, const http::render_options& options) {
  const auto& q = std::get<state::kv_changes>(requested.query);
  std::string key(1, static_cast<char>('0' + q.kinds));
  key += options.keys_only ? 'k' : 'v';
  key += requested.query.lists_need_permission ? 'l' : ' ';
  const auto append = [&](const std::string& text) { (key += std::to_string(text.size()) += ':') += text; };
  for (const auto& prefix : q.prefixes)
    append(prefix);
  if (requested.query.by) {
    key += '@';
    append(requested.query.by->secret);
  }
  return key;
}

change_streams::stream* change_streams::find(request_id name) {
  const auto it = streams_.find(name);
  return it == streams_.end() ? nullptr : it->second.get();
}

// ---- questions

/// Sends a query on behalf of a token; permissions are checked with each response.
request_id change_streams::ask(state::query q, std::uint64_t wait_for, monotonic_time until) {
  read_query r{pending_.unclaimed_id(), {}, until};
  r.request.query = std::move(q);
  r.request.mode = http::consistency::stale; // these tables do not go back
  r.request.min_index = wait_for;
  out_.post(r);
  return r.id;
}

void change_streams::begin(exchange& e, monotonic_time now) {
  const auto& requested = std::get<http::change_stream>(e.what);
  read_query q{pending_.add(e, times_.due(now)), {}, {}};
  q.request.query = requested.query;
  q.request.mode = requested.mode;
  const auto& wants = std::get<state::kv_changes>(requested.query);
  if (wants.requested == wanted::snapshot && !wants.after.index.is_zero()) { // at an index that may not
                                                                             // have arrived here
                                                                             // yet
    q.request.min_index = wants.after.index.value;
    q.deadline = now + times_.queue_timeout;
  }
  out_.post(std::move(q));
}

void change_streams::opened(exchange& e, const read_result& r, monotonic_time now) {
  if (auto no = refusal_in(r)) {
    e.answer = std::move(*no);
    return;
  }
  const auto* result = r.found();
  const auto& requested = std::get<state::kv_changes>(std::get<http::change_stream>(e.what).query);
  auto opened = std::make_unique<stream>();
  auto& s = *opened;
  s.e = &e;
  s.name = pending_.unclaimed_id();
  s.key = key_of(std::get<http::change_stream>(e.what), e.options);
  s.have = requested.after;
  s.history = requested.history;
  e.load = 0;
  e.deadline = monotonic_time::max();
  e.transfer = std::make_unique<snapshot_transfer>();
  e.transfer->archive = s.name;
  e.transfer->streaming = true;
  e.answer = http::render_stream_head();
  streams_.emplace(s.name, std::move(opened));
  count();
  if (finished_)
    return end(s, {});
  const auto& rows = *rows_of(*result);
  if (requested.requested == wanted::snapshot && !rows.gone) {
    auto shared = r.shared ? r.shared : std::make_shared<const state::query_result>(*result);
    return send_snapshot(s,
                         std::make_shared<snapshot_text>(std::move(shared), e.options.keys_only,
                                                         [this](std::string text) { return keep(std::move(text)); }));
  }
  if (requested.requested == wanted::position)
    s.have = rows.reached;
  take(s, *result, now);
  if (s.now == phase::following) { // it gets its cursor at once
    std::string position;
    http::append_progress(position, {s.have, rows.history});
    put_own(s, std::move(position));
  }
}

bool change_streams::answered(const read_result& r, monotonic_time now) {
  if (const auto it = requested_by_groups_.find(r.id); it != requested_by_groups_.end()) {
    const auto g = groups_.find(it->second);
    requested_by_groups_.erase(it);
    if (g != groups_.end())
      read_done(*g->second, r, now);
    return true;
  }
  if (const auto it = requested_by_streams_.find(r.id); it != requested_by_streams_.end()) {
    auto* s = find(it->second);
    requested_by_streams_.erase(it);
    if (s != nullptr)
      read(*s, r, now);
    return true;
  }
  if (const auto it = requested_for_snapshots_.find(r.id); it != requested_for_snapshots_.end()) {
    const auto key = it->second;
    requested_for_snapshots_.erase(it);
    snapshot_read(key, r, now);
    return true;
  }
  return false;
}

// ---- streams that read on their own

/// Reads what is there at once: a stream that has everything joins its group.
void change_streams::read_on(stream& s, monotonic_time now) {
  ask_for(s, 0, now);
}

/// The stream is ahead of this server; it gets a sign of life regularly.
void change_streams::wait_for_server(stream& s, monotonic_time now) {
  if (s.e->input_ended)
    return end(s, {});
  s.waits_for_server = true;
  ask_for(s, s.have.index.value, now + progress_period);
}

void change_streams::ask_for(stream& s, std::uint64_t wait_for, monotonic_time until) {
  s.requested = ask(asking(requested_by(s).query, wanted::changes, s.have, s.history), wait_for, until);
  requested_by_streams_.emplace(s.requested, s.name);
}

void change_streams::read(stream& s, const read_result& r, monotonic_time now) {
  s.requested = {};
  const bool has_waited = std::exchange(s.waits_for_server, false);
  const auto* result = r.found();
  if (result == nullptr && s.e->input_ended)
    return end(s, {});
  if (result == nullptr) // the query failed; it is repeated when the client takes more
    return put_own(s, std::string(http::event_comment));
  if (const auto* no = std::get_if<state::refusal>(&result->data))
    return refuse(s, no->text);
  if (const auto& rows = *rows_of(*result); !rows.gone && rows.applied < s.have.index && !has_waited)
    return wait_for_server(s, now);
  take(s, *result, now);
}

/// Handles changes after s.have, or their absence from the window.
void change_streams::take(stream& s, const state::query_result& result, monotonic_time now) {
  const auto& rows = *rows_of(result);
  if (rows.gone)
    return needs_snapshot(s, why_gone(rows), rows.floor, now);
  const bool other_rights = s.viewer != nullptr && !see_the_same(s.viewer, rows.viewer);
  s.viewer = rows.viewer;
  if (other_rights)
    return needs_snapshot(s, "permissions", rows.applied, now);
  metrics_.change_stream_lag(rows.applied.value - std::min(rows.applied, s.have.index).value);
  if (rows.applied < s.have.index)
    return put_own(s, std::string(http::event_comment));
  s.history = {};
  if (!rows.list.empty())
    put_own(s, text_of(rows, s.e->options.keys_only));
  s.have = rows.reached;
  if (!rows.more)
    follow(s, now);
  else if (rows.list.empty())
    put_own(s, std::string(http::event_comment)); // and the next query when it is taken
}

void change_streams::follow(stream& s, monotonic_time now) {
  if (s.e->input_ended)
    return end(s, {});
  auto& position = groups_[s.key];
  if (position == nullptr) {
    position = std::make_unique<group>();
    position->requested = requested_by(s).query;
    position->keys_only = s.e->options.keys_only;
  }
  auto& g = *position;
  if (g.following.empty()) {
    give_up_waiting(g); // no stream is at that cursor now
    g.position = s.have;
    g.viewer = s.viewer;
    g.progress_due = now + progress_period;
  } else if (s.have < g.position) { // the group got more meanwhile
    return read_on(s, now);
  } else if (!see_the_same(s.viewer, g.viewer)) {
    return needs_snapshot(s, "permissions", g.position.index, now);
  }
  s.now = phase::following;
  s.in = position.get();
  s.spot = s.in->following.size();
  s.in->following.push_back(&s);
  ++following_;
  if (g.waits.is_zero())
    await(g, now);
}

void change_streams::give_up_waiting(group& g) {
  if (g.waits.is_zero())
    return;
  requested_by_groups_.erase(g.waits);
  out_.post(cancel_query{std::exchange(g.waits, request_id{})});
}

void change_streams::leave(stream& s) {
  if (s.in == nullptr)
    return;
  auto& all = s.in->following;
  all[s.spot] = all.back();
  all[s.spot]->spot = s.spot;
  all.pop_back();
  --following_;
  s.in = nullptr;
}

// ---- groups

void change_streams::await(group& g, monotonic_time now) {
  g.waits = ask(asking(g.requested, wanted::changes, g.position), std::max<std::uint64_t>(g.position.index.value, 1),
                std::max(g.progress_due, now));
  requested_by_groups_.emplace(g.waits, g.following.front()->key);
}

void change_streams::read_done(group& g, const read_result& r, monotonic_time now) {
  g.waits = {};
  if (g.following.empty()) // tick() removes it
    return;
  const auto* result = r.found();
  if (result == nullptr)
    return; // tick() asks again
  if (const auto* no = std::get_if<state::refusal>(&result->data)) {
    PROBE("gateway: streams of changes ended with their token");
    for (auto* s : members(g.following))
      refuse(*s, no->text);
    return;
  }
  const auto& rows = *rows_of(*result);
  const bool other_rights = g.viewer != nullptr && !see_the_same(g.viewer, rows.viewer);
  g.viewer = rows.viewer;
  if (rows.gone || other_rights) {
    PROBE("gateway: streams of changes begin anew");
    for (auto* s : MUTANT(group_begins_anew_in_part) ? members{g.following.front()} : members(g.following)) {
      leave(*s);
      if (rows.gone && state::change_position{rows.floor} <= s->have) { // it joined later, with
                                                                        // a cursor ahead of its
                                                                        // group
        PROBE("gateway: a stream ahead of its group goes on");
        s->now = phase::reading;
        read_on(*s, now);
        continue;
      }
      needs_snapshot(*s, rows.gone ? why_gone(rows) : "permissions", rows.gone ? rows.floor : rows.reached.index, now);
      feed(*s);
    }
    return;
  }
  send_all(g, rows, now);
  if (!g.following.empty())
    await(g, now);
}

/// All changes, followed by progress.
/// @param progress empty: none
http::shared_body_ptr change_streams::rendered(const state::change_rows& rows, bool keys_only,
                                               const std::string& progress) {
  rendering r{keys_only, {}, progress.empty() ? state::change_position{{}, 0} : rows.reached, rows.history, nullptr};
  for (const auto& c : rows.list)
    r.changes.push_back({c.index, c.effect});
  if (last_.text != nullptr && r.keys_only == last_.keys_only && r.progress == last_.progress &&
      r.history == last_.history && r.changes == last_.changes) {
    PROBE("gateway: groups of streams of changes are told the same text");
    return last_.text;
  }
  auto text = with_progress(text_of(rows, keys_only), progress);
  r.text = text.empty() ? nullptr : keep(std::move(text));
  last_ = std::move(r);
  return last_.text;
}

void change_streams::send_all(group& g, const state::change_rows& rows, monotonic_time now) {
  const bool sent_cursor = now >= g.progress_due;
  if (sent_cursor)
    g.progress_due = now + progress_period;
  std::string progress;
  if (sent_cursor)
    http::append_progress(progress, {rows.reached, rows.history});
  const auto text = rendered(rows, g.keys_only, progress);
  const auto before = std::exchange(g.position, rows.reached);
  // If a stream is removed, the last one, which is done, takes its index.
  for (auto i = g.following.size(); i-- > 0;) {
    if (i >= g.following.size())
      continue;
    auto& s = *g.following[i];
    if (s.have <= before) {
      s.have = rows.reached;
      if (text != nullptr && !send_now(s, text))
        put(s, text);
    } else {
      auto rest = text_of(rows, s.have, g.keys_only);
      if (s.have <= rows.reached) // a cursor never goes back
        rest = with_progress(std::move(rest), progress);
      s.have = std::max(s.have, rows.reached);
      if (!rest.empty())
        put_own(s, std::move(rest));
    }
  }
}

// ---- snapshots

void change_streams::needs_snapshot(stream& s, std::string why, log_index newer_than, monotonic_time now) {
  s.now = phase::awaiting_snapshot;
  s.history = {}; // what it has from then on is of this server
  s.why_reset = std::move(why);
  s.newer_than = newer_than;
  auto& of_group = snapshots_[s.key];
  if (auto newest = of_group.newest.lock();
      newest != nullptr && newest->index() >= newer_than && now - of_group.made < snapshot_age_max) {
    PROBE("gateway: a snapshot of keys is sent to several streams");
    return send_snapshot(s, std::move(newest));
  }
  of_group.waiting.push_back(s.name);
  if (!of_group.under_way.is_zero())
    return;
  of_group.requested = requested_by(s).query;
  of_group.keys_only = s.e->options.keys_only;
  of_group.under_way = ask(asking(of_group.requested, wanted::snapshot, state::change_position{newer_than}),
                           newer_than.value, now + progress_period);
  requested_for_snapshots_.emplace(of_group.under_way, s.key);
}

void change_streams::snapshot_read(const std::string& key, const read_result& r, monotonic_time now) {
  auto& of_group = snapshots_[key];
  of_group.under_way = {};
  const auto waiting = std::exchange(of_group.waiting, {});
  const auto* result = r.found();
  const auto* no = result != nullptr ? std::get_if<state::refusal>(&result->data) : nullptr;
  std::shared_ptr<snapshot_text> state;
  if (result != nullptr && no == nullptr) {
    auto shared = r.shared ? r.shared : std::make_shared<const state::query_result>(*result);
    state = std::make_shared<snapshot_text>(std::move(shared), of_group.keys_only,
                                            [this](std::string text) { return keep(std::move(text)); });
    of_group.newest = state;
    of_group.made = now;
  }
  for (const auto& name : waiting) {
    auto* s = find(name);
    if (s == nullptr || s->now != phase::awaiting_snapshot)
      continue;
    if (no != nullptr)
      refuse(*s, no->text);
    else if (state != nullptr && state->index() >= s->newer_than)
      send_snapshot(*s, state);
    else if (s->e->input_ended)
      end(*s, {});
    else {
      put_own(*s, std::string(http::event_comment));
      needs_snapshot(*s, std::move(s->why_reset), s->newer_than, now);
    }
  }
}

void change_streams::send_snapshot(stream& s, std::shared_ptr<snapshot_text> state) {
  if (!s.why_reset.empty())
    metrics_.change_stream_reset();
  s.now = phase::snapshot;
  s.state = std::move(state);
  s.viewer = s.state->viewer();
  s.next_piece = 0;
  std::string begin;
  http::append_snapshot_begin(begin, s.state->index(), s.why_reset);
  put_own(s, std::move(begin));
}

// ---- what clients get

http::shared_body_ptr change_streams::keep(std::string text) {
  auto body = std::make_unique<http::shared_body>();
  auto bytes = framed(text);
  body->size = bytes.size();
  body->pieces.push_back(make_payload(bytes));
  held_.change(0, body->size);
  return {body.release(), [&held = held_](const http::shared_body* b) { // it may outlive this object
            held.change(b->size, 0);
            delete b;
          }};
}

/// Writes directly to the socket if the client has taken everything before, as most have. That
/// saves a turn of its exchange, and memory for each stream. @returns true: sent; the stream may be
/// gone
bool change_streams::send_now(const stream& s, const http::shared_body_ptr& text) {
  return s.queue.empty() && !s.waits.is_zero() && !s.e->old_version && s.e->from->send_now(text);
}

void change_streams::put_own(stream& s, std::string text) {
  put(s, keep(std::move(text)));
}

void change_streams::put(stream& s, const http::shared_body_ptr& text) {
  if (!s.queue.empty() && s.queued_bytes + text->size > queued_bytes_max) {
    PROBE("gateway: a stream of changes was cut because its client is slow");
    metrics_.change_stream_cut();
    std::string last;
    http::append_end(last, "cut", "slow");
    return end(s, std::move(last));
  }
  queue(s, text);
  feed(s);
}

void change_streams::queue(stream& s, http::shared_body_ptr text) {
  s.queued_bytes += text->size;
  queued_bytes_ += text->size;
  s.queue.push_back(std::move(text));
}

/// If its exchange waits for a piece and there is one, passes it on.
void change_streams::feed(stream& s) {
  if (s.waits.is_zero() || pending_.find(s.waits) == nullptr || !fill(s))
    return;
  pending_.settle(std::exchange(s.waits, request_id{}));
  s.e->transfer->requested = false;
  if (s.e->transfer->ended)
    forget(s.name);
}

/// @returns false: there is nothing for it yet
bool change_streams::fill(stream& s) {
  auto& t = *s.e->transfer;
  if (s.queue.empty() && s.now == phase::snapshot) {
    auto piece = s.state->piece(s.next_piece);
    if (piece == nullptr) {
      std::string progress;
      s.have = state::change_position{s.state->index()};
      http::append_progress(progress, {s.have, s.state->history()});
      piece = keep(std::move(progress));
      s.state.reset();
      s.now = phase::reading;
    } else
      ++s.next_piece;
    queue(s, std::move(piece));
  }
  if (!s.queue.empty()) {
    auto text = std::move(s.queue.front());
    s.queue.pop_front();
    s.queued_bytes -= text->size;
    queued_bytes_ -= text->size;
    if (s.e->old_version)
      t.piece = unframed(*text);
    else
      t.block = std::move(text);
    return true;
  }
  if (s.now != phase::ending)
    return false;
  t.piece = std::move(s.last_words);
  t.ended = true;
  return true;
}

void change_streams::next_piece(exchange& e, monotonic_time now) {
  auto* s = find(e.transfer->archive);
  if (s == nullptr)
    return;
  e.transfer->requested = true;
  if (fill(*s)) { // the caller takes it at once
    e.transfer->requested = false;
    if (e.transfer->ended)
      forget(s->name);
    return;
  }
  s->waits = pending_.add(e);
  if (s->now == phase::reading && s->requested.is_zero())
    read_on(*s, now);
}

// ---- ends

void change_streams::refuse(stream& s, const std::string& why) {
  std::string last;
  http::append_end(last, "refused", why);
  end(s, std::move(last));
}

void change_streams::end(stream& s, std::string last_words) {
  leave(s);
  s.now = phase::ending;
  s.state.reset();
  s.last_words = std::move(last_words);
  feed(s);
}

void change_streams::forget(request_id name) {
  const auto it = streams_.find(name);
  if (it == streams_.end())
    return;
  auto& s = *it->second;
  leave(s);
  if (!s.requested.is_zero() && requested_by_streams_.erase(s.requested) != 0)
    out_.post(cancel_query{s.requested});
  queued_bytes_ -= s.queued_bytes;
  streams_.erase(it);
  count();
}

/// Ends the stream of a client that has closed its side. A stream that is reading alone is ended by
/// follow(), after its read.
void change_streams::end_wait(const exchange& e) {
  auto* s = find(e.transfer->archive);
  if (s != nullptr && (s->now == phase::following || s->now == phase::awaiting_snapshot || s->waits_for_server))
    end(*s, {});
}

void change_streams::close(const exchange& e) {
  if (e.transfer != nullptr)
    forget(e.transfer->archive);
}

void change_streams::count() {
  const metrics::streams_counted now{streams_.size(), streams_.size() - following_, queued_bytes_};
  metrics_.change_streams(std::exchange(counted_, now), now);
}

/// Data here may be old without anyone noticing; other servers may have a leader.
/// Clients that accept that use `stale`.
void change_streams::end_without_leader() {
  std::string last;
  http::append_end(last, "leaderless", forward::no_leader);
  for (auto* s : all_streams()) {
    if (s->now == phase::ending || requested_by(*s).mode == http::consistency::stale)
      continue;
    PROBE("gateway: a stream of changes ended because there is no leader");
    end(*s, last);
  }
}

void change_streams::tick(monotonic_time now, bool leaderless) {
  count();
  if (!leaderless)
    leaderless_since_.reset();
  else if (!leaderless_since_)
    leaderless_since_ = now;
  if (leaderless_since_ && now - *leaderless_since_ >= times_.queue_timeout && !MUTANT(stream_outlives_leader))
    end_without_leader();
  last_ = {};
  for (auto it = groups_.begin(); it != groups_.end();) {
    auto& g = *it->second;
    if (!g.following.empty()) {
      if (g.waits.is_zero())
        await(g, now);
      ++it;
      continue;
    }
    give_up_waiting(g);
    it = groups_.erase(it);
  }
  std::erase_if(snapshots_, [now](const auto& each) {
    const auto& of_group = each.second;
    return of_group.under_way.is_zero() && (of_group.newest.expired() || now - of_group.made >= snapshot_age_max);
  });
}

/// A copy, as streams may be removed meanwhile.
std::vector<change_streams::stream*> change_streams::all_streams() const {
  std::vector<stream*> all;
  for (const auto& [name, s] : streams_)
    all.push_back(s.get());
  return all;
}

void change_streams::finish() {
  finished_ = true;
  for (auto* s : all_streams())
    end(*s, {});
}

} // namespace belay::actors
