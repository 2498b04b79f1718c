#include <belay/mirror.hpp>

#include "client/core/cursors.hpp"
#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

/// Rejected because of the key or its value: retries would fail again, and other keys are not
/// affected.
bool is_of_the_key(int status) {
  return status == 400 || status == 413;
}

/// The first of the two operations writes the record.
bool note_has_changed(const detail::txn_failure& f) {
  return f.operations.empty() || std::find(f.operations.begin(), f.operations.end(), 0u) != f.operations.end();
}

} // namespace

mirror::mirror(environment& original, std::string prefix, environment& copy, std::string copy_prefix, std::string name)
    : original_(original), prefix_(std::move(prefix)), copy_(copy), copy_prefix_(std::move(copy_prefix)),
      name_(std::move(name)) {}

std::string mirror::cursor() const {
  return reached_;
}

task<status> mirror::read_notes(deadline limit) {
  std::string below = name_ + "/at/";
  result<tree_reading> now = co_await read_tree(copy_, below, limit);
  if (!now)
    co_return now.error();
  auto before = std::exchange(notes_, {});
  for (const auto& e : now->found) {
    auto space = e.value.find(' ');
    auto index = detail::number_in(std::string_view(e.value).substr(0, space));
    if (!index)
      co_return error(outcome::refused, reason::invalid, "the key " + e.key + " is not the progress of a mirror");
    noted n;
    n.original = *index;
    n.history = e.flags;
    n.erased = space != e.value.npos;
    n.index = e.index;
    auto key = e.key.substr(below.size());
    auto known = before.find(key);
    n.later = known == before.end() || known->second.index != n.index || known->second.later;
    notes_[key] = n;
  }
  co_return nothing();
}

task<status> mirror::read_cursor(deadline limit) {
  result<reading> now = co_await read_key(copy_, name_ + "/place", limit);
  if (!now)
    co_return now.error();
  kept_ = kept_cursor();
  if (now->found) {
    kept_.position = now->found->value;
    kept_.history = now->found->flags;
    kept_.index = now->found->index;
  }
  co_return nothing();
}

task<status> mirror::begin(deadline limit) {
  if (source_)
    co_return nothing();
  status placed = co_await read_cursor(limit);
  if (!placed)
    co_return placed;
  status read = co_await read_notes(limit);
  if (!read)
    co_return read;
  auto from = detail::cursor_parts{kept_.position, kept_.history}.text();
  reached_ = kept_.position;
  source_ = std::make_unique<changes>(original_, prefix_, from);
  co_return nothing();
}

/// Compares the batch with the records. If it is the first one of another history, this is stored
/// in NAME/place before anything is copied. Mirrors that copy the previous history then find it
/// there.
task<result<mirror::standing>> mirror::take_on(const change_batch& b, deadline limit) {
  history_ = history_of(b.cursor);
  auto index = detail::order_of(b.cursor).first;
  snapshot_ = b.is_snapshot ? index : 0;
  for (auto& [key, n] : notes_)
    n.later = false;
  if (b.is_snapshot)
    left_out_.clear();
  // What was copied before this request happened before it, so an index that goes back belongs to
  // another history.
  bool named = history_ != 0 && kept_.history != 0;
  bool went_back = !kept_.position.empty() && detail::order_of(kept_.position).first > index;
  other_history_ = b.is_snapshot && b.is_newest && (named ? history_ != kept_.history : went_back);
  bool alternates = other_history_ && ran_ != 0 && ran_ == history_;
  ran_ = history_;
  if (alternates)
    co_return error(outcome::refused, reason::held,
                    "another mirror with the name " + name_ +
                        " copies an original that has another history. Stop one of them, or rename it");
  if (!other_history_ || history_ == 0)
    co_return standing::ours;
  // Without a position: a mirror that reads it begins with a snapshot.
  request q("PUT", request::path_of("/v1/kv/", name_ + "/place"));
  q.query("cas", std::to_string(kept_.index)).query("flags", std::to_string(history_));
  backoff pauses(milliseconds(50));
  detail::decision made = co_await detail::write_once(copy_, q, limit, pauses, detail::repeats::harmless);
  if (made.last.status() != 200) {
    error why = made.to_error();
    co_return why;
  }
  status read = co_await read_cursor(limit);
  if (!read)
    co_return read.error();
  auto where = kept_.history == history_ ? standing::ours : standing::taken_over;
  co_return where;
}

/// Whether the record is obsolete.
bool mirror::is_void(const noted& n) const {
  if (CLIENT_MUTANT(mirror_keeps_other_history))
    return false;
  if (history_ != 0 && n.history != 0 && n.history != history_)
    return true;
  // When everything is compared, a record that names no history proves nothing.
  return !n.later && (other_history_ || (snapshot_ != 0 && history_ != 0 && n.history == 0));
}

/// Whether the copy has this change, or a later one.
bool mirror::has_it(const noted& n, const key_change& c) const {
  if (n.index == 0 || is_void(n))
    return false;
  if (snapshot_ == 0)
    return n.original >= c.index;
  // A snapshot has everything that was recorded before it was read. A restore brought back a key
  // whose index is lower than its record's.
  return n.original == c.index || n.original > snapshot_ || (n.later && n.original > c.index);
}

/// Whether the change belongs to the key that it names, or to one whose name is not UTF-8.
/// @returns none_left: to one that is not UTF-8, and no such key with this displayed name is
/// left
task<result<mirror::naming>> mirror::naming_of(const key_change& c, deadline limit) {
  if (!detail::is_ambiguous(c.key))
    co_return naming::exact;
  result<reading> exact = co_await read_key(original_, c.key, limit);
  if (!exact)
    co_return exact.error();
  auto out = exact->found ? naming::none_left : naming::exact;
  if (c.kind == change_kind::set) {
    bool is_it = exact->found && exact->found->index >= c.index;
    out = is_it ? naming::exact : naming::misnamed;
    co_return out;
  }
  result<tree_reading> all = co_await read_tree(original_, prefix_, limit);
  if (!all)
    co_return all.error();
  auto shown = std::count_if(all->found.begin(), all->found.end(), [&](const entry& e) { return e.key == c.key; });
  if (shown > (exact->found ? 1 : 0))
    out = naming::misnamed;
  co_return out;
}

/// Makes the copy's key what the change says, unless it has that or something later.
task<result<mirror::standing>> mirror::copy_one(key_change c, deadline limit) {
  std::string key = c.key.substr(prefix_.size());
  std::string note_key = name_ + "/at/" + key;
  bool erased = c.kind != change_kind::set;
  if ((copy_prefix_ + key).empty()) {
    if (erased)
      left_out_.erase(c.key);
    else
      left_out_[c.key] = "its copy would have an empty name";
    co_return standing::ours;
  }
  result<naming> named = co_await naming_of(c, limit);
  if (!named)
    co_return named.error();
  if (*named == naming::misnamed)
    left_out_[c.key] = "its name is not UTF-8, so that no list of keys can contain it";
  if (*named == naming::none_left)
    left_out_.erase(c.key);
  if (*named != naming::exact)
    co_return standing::ours;
  for (;;) {
    auto known = notes_[key];
    if (has_it(known, c) && !CLIENT_MUTANT(mirror_goes_back)) {
      left_out_.erase(c.key);
      co_return standing::ours;
    }
    std::string note = std::to_string(c.index) + (erased ? " erased" : "");
    detail::transaction t;
    if (CLIENT_MUTANT(mirror_goes_back))
      t.set(note_key, note);
    else
      t.cas(note_key, note, known.index, history_);
    if (erased)
      t.erase(copy_prefix_ + key);
    else
      t.set(copy_prefix_ + key, c.value, c.flags);
    detail::decision made = co_await detail::commit(copy_, t, limit, detail::repeats::harmless);
    if (detail::is_made(made)) {
      noted n;
      n.original = c.index;
      n.history = history_;
      n.erased = erased;
      n.index = detail::index_of_result(made.last.body(), note_key);
      n.later = true;
      notes_[key] = n;
      left_out_.erase(c.key);
      co_return standing::ours;
    }
    bool refused = is_of_the_key(made.last.status());
    std::string why_not = made.to_error().text();
    if (detail::is_conflict(made)) {
      auto failed = detail::txn_failure_in(made.last.body());
      refused = !note_has_changed(failed);
      why_not = failed.text;
    }
    if (refused && !CLIENT_MUTANT(left_out_unsaid))
      left_out_[c.key] = why_not;
    if (refused)
      co_return standing::ours;
    if (!detail::is_conflict(made)) {
      error why = made.to_error();
      co_return why;
    }
    // Another mirror was faster, or this one was and the response was lost.
    status read = co_await read_notes(limit);
    if (!read)
      co_return read.error();
    status placed = co_await read_cursor(limit);
    if (!placed)
      co_return placed.error();
    if (history_ != 0 && kept_.history != 0 && kept_.history != history_)
      co_return standing::taken_over;
  }
}

/// Keys that were copied and are not in the snapshot were erased before it.
task<result<mirror::standing>> mirror::erase_others(const change_batch& b, deadline limit) {
  std::map<std::string, bool> there;
  for (const auto& c : b.changes)
    there[c.key.substr(prefix_.size())] = true;
  auto notes = notes_;
  for (const auto& [key, n] : notes) {
    // An erasure of another history is recorded again: a later change in this history may have a
    // lower index.
    bool noted_already = n.erased && !is_void(n);
    if (noted_already || there.count(key) || CLIENT_MUTANT(mirror_keeps_erased))
      continue;
    key_change gone;
    gone.kind = change_kind::erased;
    gone.key = prefix_ + key;
    gone.index = snapshot_;
    result<standing> copied = co_await copy_one(gone, limit);
    if (!copied || *copied == standing::taken_over)
      co_return copied;
  }
  co_return standing::ours;
}

/// Stores the cursor unless a later one is there. While keys are left out it stays: a mirror that
/// begins there tries them again.
task<result<mirror::standing>> mirror::store_cursor(std::string cursor, deadline limit) {
  auto wanted = detail::parts_of_cursor(cursor);
  bool went_back = other_history_ && history_ == 0;
  backoff pauses(milliseconds(50));
  for (;;) {
    if (!left_out_.empty())
      co_return standing::ours;
    status read = co_await read_cursor(limit);
    if (!read)
      co_return read.error();
    if (wanted.history != 0 && kept_.history != 0 && kept_.history != wanted.history)
      co_return standing::taken_over;
    bool later = kept_.index == 0 || went_back || is_behind(wanted.position, kept_.position);
    bool same = kept_.position == wanted.position && kept_.history == wanted.history;
    if (!later || same)
      co_return standing::ours;
    request q("PUT", request::path_of("/v1/kv/", name_ + "/place"));
    q.query("cas", std::to_string(kept_.index)).query("flags", std::to_string(wanted.history));
    q.body(wanted.position);
    detail::decision made = co_await detail::write_once(copy_, q, limit, pauses, detail::repeats::harmless);
    if (detail::is_true(made.last))
      continue; // the next round reads its new index
    if (made.last.status() != 200) {
      error why = made.to_error();
      co_return why;
    }
    auto again = copy_.now() + pauses.next(copy_);
    bool reached = co_await sleep_until(copy_, again, limit);
    if (!reached)
      co_return limit.error();
  }
}

task<result<mirror::standing>> mirror::copy_all(const change_batch& b, deadline limit) {
  result<standing> so_far = co_await take_on(b, limit);
  bool too_early = CLIENT_MUTANT(mirror_notes_place_first) && so_far;
  if (too_early) {
    result<standing> early = co_await store_cursor(b.cursor, limit);
    so_far = std::move(early);
  }
  for (const auto& c : b.changes) {
    if (!so_far || *so_far == standing::taken_over)
      co_return so_far;
    result<standing> one = co_await copy_one(c, limit);
    so_far = std::move(one);
  }
  if (!so_far || *so_far == standing::taken_over)
    co_return so_far;
  if (b.is_snapshot) {
    result<standing> others = co_await erase_others(b, limit);
    if (!others || *others == standing::taken_over)
      co_return others;
  }
  result<standing> stored = co_await store_cursor(b.cursor, limit);
  other_history_ = false;
  co_return stored;
}

task<status> mirror::step(deadline limit) {
  status begun = co_await begin(limit);
  if (!begun)
    co_return begun;
  result<change_batch> batch = co_await source_->next(limit);
  if (!batch)
    co_return batch.error();
  result<standing> copied = co_await copy_all(*batch, limit);
  // Continue from the stored cursor, with the records as they are.
  if (!copied || *copied == standing::taken_over)
    source_.reset();
  if (!copied)
    co_return copied.error();
  if (*copied == standing::ours)
    reached_ = position_of(batch->cursor);
  co_return nothing();
}

task<result<bool>> mirror::is_current(deadline limit) {
  status begun = co_await begin(limit);
  if (!begun)
    co_return begun.error();
  result<bool> current = co_await source_->is_current(limit);
  co_return current;
}

task<result<std::uint64_t>> mirror::repair(deadline limit) {
  status read = co_await read_notes(limit);
  if (!read)
    co_return read.error();
  result<tree_reading> theirs = co_await read_tree(copy_, copy_prefix_, limit);
  if (!theirs)
    co_return theirs.error();
  result<tree_reading> ours = co_await read_tree(original_, prefix_, limit);
  if (!ours)
    co_return ours.error();
  std::map<std::string, entry> copies;
  for (auto& e : theirs->found)
    copies[e.key] = e;
  std::uint64_t written = 0;
  for (const auto& e : ours->found) {
    auto key = e.key.substr(prefix_.size());
    auto n = notes_.find(key);
    bool copied = n != notes_.end() && !n->second.erased && n->second.original == e.index &&
                  (history_ == 0 || n->second.history == 0 || n->second.history == history_);
    const auto& there = copies[copy_prefix_ + key];
    bool equal = there.index > 0 && there.value == e.value && there.flags == e.flags;
    if (!copied || equal)
      continue;
    // The record and the copy must be as they were read.
    detail::transaction t;
    t.check_index(name_ + "/at/" + key, n->second.index).cas(copy_prefix_ + key, e.value, there.index, e.flags);
    detail::decision made = co_await detail::commit(copy_, t, limit, detail::repeats::harmless);
    if (detail::is_made(made))
      ++written;
    bool decided = detail::is_made(made) || detail::is_conflict(made);
    if (!decided) {
      error why = made.to_error();
      co_return why;
    }
  }
  co_return written;
}

} // namespace v0
} // namespace belay
