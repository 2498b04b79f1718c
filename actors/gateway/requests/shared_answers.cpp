#include "actors/gateway/requests/shared_answers.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/http/reading/filtering.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// For a pointer to a row, or for a name; the row itself usually is in the tables, too.
constexpr std::size_t row_held_bytes = 32;

} // namespace

bool shared_answers::form::operator==(const form& other) const {
  const bool same_viewer = viewer.empty() ? other.viewer.empty() : is_secret(other.viewer, viewer);
  return query == other.query && raw == other.raw && keys_only == other.keys_only && pretty == other.pretty &&
         gzip == other.gzip && same_viewer;
}

bool shared_answers::rows_in_form::same_as(const rows_in_form& other) const {
  return shown_as == other.shown_as && (rows == other.rows || http::same_rows(*rows, *other.rows));
}

/// The rows stay in `r`, too. No rows: the filter costs too much.
shared_answers::rows_in_form shared_answers::what_of(const exchange& e, read_result& r) {
  if (r.shared == nullptr)
    r.shared = std::make_shared<const state::query_result>(std::move(std::get<state::query_result>(r.answer)));
  const auto& query = std::get<http::read_request>(e.what).query;
  // A HEAD request gets the length of the uncompressed body.
  const bool raw = e.options.raw && http::asks_one_key(query);
  rows_in_form w{{query.index(), raw, e.options.keys_only, e.options.pretty, e.options.gzip && !e.head,
                  e.by ? e.by->secret : std::string()},
                 r.shared};
  if (e.options.filter) {
    auto kept = *r.shared;
    const bool affordable = http::leave_out(*e.options.filter, query, kept);
    w.rows = affordable ? std::make_shared<const state::query_result>(std::move(kept)) : nullptr;
  }
  return w;
}

http::shared_body_ptr shared_answers::find_rendered(const rows_in_form& what) {
  for (const auto& r : rendered_)
    if (auto body = r.body.lock(); body != nullptr && r.what.same_as(what))
      return body;
  return nullptr;
}

bool shared_answers::take(exchange& e, read_result& r, monotonic_time due, monotonic_time now) {
  const auto* result = r.found();
  if (result == nullptr || http::estimated_bytes(*result, bytes_min) < bytes_min)
    return false;
  auto what = what_of(e, r);
  if (what.rows == nullptr) {
    e.answer = http::filter_too_costly();
    admission_.answered(e, now);
    return true;
  }
  const auto& request = std::get<http::read_request>(e.what);
  if (e.options.filter && http::estimated_bytes(*what.rows, bytes_min) < bytes_min)
    return false; // little is left
  auto head = http::render_read_head(request, *what.rows,
                                     {r.last_contact_ms, r.known_leader, r.lock_delay_ms, r.session_ttl_ms}, e.options);
  auto body = find_rendered(what);
  if (body != nullptr) {
    metrics_.shared_answer();
  } else if (what.shown_as.raw && !what.shown_as.gzip) { // the value as it is stored
    const payload value = std::get<state::kv_entries>(what.rows->data).entries.front()->value;
    const auto bytes = value->size();
    body = keep({{value}, bytes, false}, 0, std::move(what));
  }
  if (body != nullptr) {
    e.answer = std::move(head);
    e.answer->body_pieces = std::move(body);
    admission_.answered(e, now);
    return true;
  }
  auto options = e.options;
  options.gzip = what.shown_as.gzip;
  if (http::estimated_bytes(*what.rows, streamed_from) >= streamed_from) {
    e.answer = std::move(head);
    stream(e, what, options);
    admission_.answered(e, now);
    return true;
  }
  const auto id = pending_.add(e, due);
  const auto same = std::find_if(active_.begin(), active_.end(), [&](const auto& a) { return a.what.same_as(what); });
  if (same != active_.end()) {
    PROBE("gateway: answer joins a rendering");
    metrics_.shared_answer();
    same->waiting.push_back({id, std::move(head)});
    return true;
  }
  active_.emplace_back(std::move(what), request.query, options);
  active_.back().waiting.push_back({id, std::move(head)});
  // Most need only one piece; several of these must not run one after the other.
  if (!rendered_in_turn_ && active_.size() == 1) {
    go_on(now);
    rendered_in_turn_ = true;
  }
  return true;
}

/// The rows are held until the client has taken the answer.
void shared_answers::stream(exchange& e, const rows_in_form& what, const http::render_options& options) {
  PROBE("gateway: a large answer rendered as its client takes it");
  e.transfer = std::make_unique<snapshot_transfer>();
  auto& t = *e.transfer;
  t.streaming = true;
  t.rows = std::make_unique<http::piecewise_body>(what.rows, std::get<http::read_request>(e.what).query, options);
  const auto bytes = state::row_count(*what.rows) * row_held_bytes;
  held_.change(0, bytes);
  e.rendering_bytes = bytes;
  t.counted = std::shared_ptr<const void>(this, [&held = held_, bytes](const void*) { held.change(bytes, 0); });
}

void shared_answers::next_piece(exchange& e) {
  auto& t = *e.transfer;
  t.ended = t.rows->go_on(piece_bytes);
  for (const auto& piece : t.rows->take_pieces())
    t.piece += *piece;
}

/// Removes clients that are gone.
bool shared_answers::wanted(rendering& r) {
  std::erase_if(r.waiting, [this](const waiter& w) { return pending_.find(w.id) == nullptr; });
  return !r.waiting.empty();
}

/// Until complete, its bytes count for one client, which is closed if the budget is exceeded.
void shared_answers::hold(rendering& r) {
  held_.change(std::exchange(r.held, r.body.made().size), r.body.made().size);
  if (auto* e = pending_.find(r.waiting.front().id))
    e->rendering_bytes = r.held;
}

void shared_answers::forget() {
  for (auto it = active_.begin(); it != active_.end();) {
    if (wanted(*it)) {
      hold(*it++);
      continue;
    }
    PROBE("gateway: rendering that nobody waits for any more");
    held_.change(it->held, 0);
    it = active_.erase(it);
  }
}

void shared_answers::go_on(monotonic_time now) {
  rendered_in_turn_ = false;
  if (active_.empty())
    return;
  auto& r = active_.front();
  const bool complete = r.body.go_on(piece_bytes);
  hold(r);
  if (complete) {
    finish(r, now);
    active_.pop_front();
  } else if (active_.size() > 1) {
    active_.splice(active_.end(), active_, active_.begin());
  }
}

/// @param held_before its bytes already counted in the budget
http::shared_body_ptr shared_answers::keep(http::shared_body made, std::size_t held_before, rows_in_form what) {
  constexpr std::size_t remembered_max = 64; // beyond that it does not wait for the tick
  if (rendered_.size() >= remembered_max)
    tick();
  const auto bytes = made.size;
  held_.change(held_before, bytes);
  http::shared_body_ptr body(new http::shared_body(std::move(made)),
                             [&held = held_, bytes](const http::shared_body* b) {
                               held.change(bytes, 0);
                               delete b;
                             });
  rendered_.push_back({std::move(what), body});
  return body;
}

void shared_answers::finish(rendering& r, monotonic_time now) {
  metrics_.rendering();
  const auto body = keep(r.body.take(), r.held, r.what);
  for (auto& w : r.waiting)
    if (auto* e = pending_.settle(w.id)) {
      e->answer = std::move(w.head);
      e->answer->body_pieces = body;
      e->rendering_bytes = 0;
      admission_.answered(*e, now);
    }
}

void shared_answers::tick() {
  std::erase_if(rendered_, [](const rendered& r) { return r.body.expired(); });
}

} // namespace belay::actors
