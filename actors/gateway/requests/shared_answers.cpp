#include "actors/gateway/requests/shared_answers.hpp"

#include "actors/freed_elsewhere.hpp"
#include "actors/gateway/requests/answers.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/base/secrets.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// Size of a pointer to a row, or of a name; the row itself usually is in the tables, too.
constexpr std::size_t row_held_bytes = 32;
/// Freeing a row takes up to 0.1 us.
constexpr std::size_t rows_freed_elsewhere = 8192;

} // namespace

bool shared_answers::form::operator==(const form& other) const {
  const bool same_viewer = viewer.empty() ? other.viewer.empty() : is_secret(other.viewer, viewer);
  return query == other.query && raw == other.raw && keys_only == other.keys_only && pretty == other.pretty &&
         gzip == other.gzip && same_viewer;
}

bool shared_answers::rows_in_form::same_as(const rows_in_form& other) const {
  return shown_as == other.shown_as && (rows == other.rows || http::same_rows(*rows, *other.rows));
}

shared_answers::rows_in_form shared_answers::what_of(const exchange& e, const state::query& q,
                                                     std::shared_ptr<const state::query_result> rows) {
  // A HEAD request gets the length of the uncompressed body.
  const bool raw = e.options.raw && http::asks_one_key(q);
  return {{q.index(), raw, e.options.keys_only, e.options.pretty, e.options.gzip && !e.head,
           e.by ? e.by->secret : std::string()},
          std::move(rows)};
}

http::shared_body_ptr shared_answers::find_rendered(const rows_in_form& what) {
  for (const auto& r : rendered_)
    if (auto body = r.body.lock(); body != nullptr && r.what.same_as(what))
      return body;
  return nullptr;
}

bool shared_answers::take(exchange& e, read_result& r, monotonic_time due, monotonic_time now) {
  const auto* found = r.found();
  if (found == nullptr || (!e.options.filter && http::estimated_bytes(*found, bytes_min) < bytes_min))
    return false;
  if (r.shared == nullptr)
    r.shared = std::make_shared<const state::query_result>(std::move(std::get<state::query_result>(r.answer)));
  const auto& request = std::get<http::read_request>(e.what);
  const http::read_meta meta{r.last_contact_ms, r.known_leader, r.lock_delay_ms, r.session_ttl_ms};
  if (e.options.filter) {
    sift(e, {{}, due, meta, {e.options.filter, request.query, r.shared}}, now);
    return true;
  }
  auto head = http::render_read_head(request, *r.shared, meta, e.options);
  render(e, r.shared, request.query, std::move(head), &meta, due, now);
  return true;
}

bool shared_answers::take(exchange& e, write_result& r, monotonic_time now) {
  auto* results = std::get_if<state::txn_reply>(&r.reply);
  if (r.outcome != wire::call_outcome::done || results == nullptr ||
      http::estimated_bytes(*results, bytes_min) < bytes_min)
    return false;
  PROBE("gateway: a large answer to a write");
  const auto rows =
      std::make_shared<const state::query_result>(state::query_result{r.index, std::exchange(*results, {})});
  auto head = answer_to(e, r);
  head.body.clear();
  render(e, rows, state::txn_read{}, std::move(head), nullptr, monotonic_time::max(), now);
  return true;
}

void shared_answers::sift(exchange& e, sifting s, monotonic_time now) {
  // Most need only one slice; several of these must not run one after the other.
  if (!worked_in_batch_ && s.rows.go_on(filter::filter_slice_usual))
    return finish(e, s, now);
  PROBE("gateway: rows filtered in slices");
  worked_in_batch_ = true;
  s.id = pending_.add(e, s.due);
  sifted_.push_back(std::move(s));
}

void shared_answers::sift_on(monotonic_time now) {
  auto& s = sifted_.front();
  if (pending_.find(s.id) == nullptr)
    return sifted_.pop_front();
  if (!s.rows.go_on(filter::filter_slice_usual))
    return sifted_.splice(sifted_.end(), sifted_, sifted_.begin());
  auto done = std::move(s);
  sifted_.pop_front();
  finish(*pending_.settle(done.id), done, now);
}

/// Few rows may be left.
void shared_answers::finish(exchange& e, sifting& s, monotonic_time now) {
  const auto& request = std::get<http::read_request>(e.what);
  auto rows = s.rows.take();
  if (rows != nullptr && http::estimated_bytes(*rows, bytes_min) >= bytes_min) {
    auto head = http::render_read_head(request, *rows, s.meta, e.options);
    if (state::row_count(*rows) >= rows_freed_elsewhere)
      rows = freed_elsewhere(node_actors_->checkpointer, std::move(rows));
    return render(e, std::move(rows), request.query, std::move(head), &s.meta, s.due, now);
  }
  e.answer = rows == nullptr ? http::filter_too_costly() : http::render_read(request, *rows, s.meta, e.options);
  admission_.answered(e, now);
}

void shared_answers::render(exchange& e, std::shared_ptr<const state::query_result> rows, const state::query& q,
                            http::response head, const http::read_meta* meta, monotonic_time due, monotonic_time now) {
  auto what = what_of(e, q, std::move(rows));
  auto body = find_rendered(what);
  if (body != nullptr) {
    metrics_.shared_answer();
  } else if (what.shown_as.raw && !what.shown_as.gzip) { // the value as it is stored
    const payload value = std::get<state::kv_entries>(what.rows->data).entries.front()->value;
    const auto bytes = value->size();
    body = keep({{value}, bytes, false}, 0, std::move(what));
  }
  auto options = e.options;
  options.gzip = what.shown_as.gzip;
  if (body != nullptr) {
    e.answer = std::move(head);
    e.answer->body_pieces = std::move(body);
    return admission_.answered(e, now);
  }
  if (http::estimated_bytes(*what.rows, streamed_from) >= streamed_from) {
    e.answer = std::move(head);
    stream(e, std::make_unique<http::piecewise_body>(what.rows, q, options, meta), held_);
    return admission_.answered(e, now);
  }
  const auto id = pending_.add(e, due);
  const auto same = std::find_if(active_.begin(), active_.end(), [&](const auto& a) { return a.what.same_as(what); });
  if (same != active_.end()) {
    PROBE("gateway: answer joins a rendering");
    metrics_.shared_answer();
    same->waiting.push_back({id, std::move(head)});
    return;
  }
  active_.emplace_back(std::move(what), q, options, meta);
  active_.back().waiting.push_back({id, std::move(head)});
  // Most need only one piece; several of these must not run one after the other.
  if (!worked_in_batch_ && active_.size() == 1) {
    render_on(now);
    worked_in_batch_ = true;
  }
}

/// The rows are held until the client has taken the answer.
void shared_answers::stream(exchange& e, std::unique_ptr<http::piecewise_body> rows, byte_budget& held) {
  PROBE("gateway: a large answer rendered as its client takes it");
  e.transfer = std::make_unique<snapshot_transfer>();
  auto& t = *e.transfer;
  t.streaming = true;
  t.rows = std::move(rows);
  const auto bytes = t.rows->row_count() * row_held_bytes;
  held.change(0, bytes);
  e.rendering_bytes = bytes;
  t.counted = std::shared_ptr<const void>(&t, [&held, bytes](const void*) { held.change(bytes, 0); });
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
  std::erase_if(sifted_, [this](const sifting& s) { return pending_.find(s.id) == nullptr; });
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
  worked_in_batch_ = true; // what this slice completes is continued in the next one
  sifts_next_ = !sifted_.empty() && (active_.empty() || !sifts_next_);
  if (sifts_next_)
    sift_on(now);
  else if (!active_.empty())
    render_on(now);
  worked_in_batch_ = false;
}

void shared_answers::render_on(monotonic_time now) {
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
