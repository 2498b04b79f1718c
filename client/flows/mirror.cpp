#include <belay/mirror.hpp>

#include "client/core/mutants.hpp"
#include "client/core/transactions.hpp"

namespace belay {
inline namespace v0 {

mirror::mirror(world& original, std::string prefix, world& copy, std::string copy_prefix, std::string name)
    : original_(original), prefix_(std::move(prefix)), copy_(copy), copy_prefix_(std::move(copy_prefix)),
      name_(std::move(name)) {}

task<status> mirror::read_notes(patience limit) {
  std::string below = name_ + "/at/";
  result<tree_reading> now = co_await read_tree(copy_, below, limit);
  if (!now)
    co_return now.why();
  notes_.clear();
  for (const auto& e : now->found) {
    auto space = e.value.find(' ');
    auto index = detail::number_in(std::string_view(e.value).substr(0, space));
    if (!index)
      co_return error(outcome::refused, reason::invalid, "the key " + e.key + " is not that of a mirror");
    noted n;
    n.original = *index;
    n.erased = space != e.value.npos;
    n.index = e.index;
    notes_[e.key.substr(below.size())] = n;
  }
  co_return nothing();
}

task<status> mirror::begin(patience limit) {
  if (source_)
    co_return nothing();
  status read = co_await read_notes(limit);
  if (!read)
    co_return read;
  place_in_key kept(copy_, name_ + "/place");
  result<std::string> place = co_await kept.load(limit);
  if (!place)
    co_return place.why();
  source_ = std::make_unique<changes>(original_, prefix_, *place);
  co_return nothing();
}

/// Makes the copy's key what the change says, unless it has that or something later.
task<status> mirror::copy_one(key_change c, patience limit) {
  std::string key = c.key.substr(prefix_.size());
  std::string note_key = name_ + "/at/" + key;
  for (;;) {
    auto known = notes_[key];
    if (known.original >= c.index && !CLIENT_MUTANT(mirror_goes_back))
      co_return nothing();
    bool erased = c.kind != change_kind::set;
    std::string note = std::to_string(c.index) + (erased ? " erased" : "");
    detail::transaction t;
    if (CLIENT_MUTANT(mirror_goes_back))
      t.set(note_key, note);
    else
      t.cas(note_key, note, known.index);
    if (erased)
      t.erase(copy_prefix_ + key);
    else
      t.set(copy_prefix_ + key, c.value, c.flags);
    detail::decision made = co_await detail::commit(copy_, t, limit, detail::repeats::harmless);
    if (detail::is_made(made)) {
      noted n;
      n.original = c.index;
      n.erased = erased;
      n.index = detail::index_of_result(made.last.body(), note_key);
      notes_[key] = n;
      co_return nothing();
    }
    if (!detail::is_conflict(made)) {
      error why = made.judge();
      co_return why;
    }
    // Another mirror was faster, or this one was, and the answer was lost.
    status read = co_await read_notes(limit);
    if (!read)
      co_return read;
  }
}

/// What was copied and is not in the snapshot was erased before it.
task<status> mirror::erase_others(change_batch b, patience limit) {
  std::map<std::string, bool> there;
  for (const auto& c : b.changes)
    there[c.key.substr(prefix_.size())] = true;
  auto index = detail::number_in(std::string_view(b.place).substr(0, b.place.find('.'))).value_or(0);
  auto notes = notes_;
  for (const auto& [key, n] : notes) {
    if (n.erased || there.count(key) || CLIENT_MUTANT(mirror_keeps_erased))
      continue;
    key_change gone;
    gone.kind = change_kind::erased;
    gone.key = prefix_ + key;
    gone.index = index;
    status copied = co_await copy_one(gone, limit);
    if (!copied)
      co_return copied;
  }
  co_return nothing();
}

task<status> mirror::step(patience limit) {
  status begun = co_await begin(limit);
  if (!begun)
    co_return begun;
  result<change_batch> batch = co_await source_->next(limit);
  if (!batch)
    co_return batch.why();
  place_in_key kept(copy_, name_ + "/place");
  std::string place = batch->place;
  status copied = nothing();
  if (CLIENT_MUTANT(mirror_notes_place_first)) {
    result<std::string> early = co_await kept.store(place, limit);
    if (!early)
      copied = early.why();
  }
  for (const auto& c : batch->changes) {
    if (!copied)
      break;
    status one = co_await copy_one(c, limit);
    copied = std::move(one);
  }
  if (copied && batch->is_snapshot) {
    status others = co_await erase_others(*batch, limit);
    copied = std::move(others);
  }
  if (!copied) {
    // From the kept place on, with notes as they are.
    source_.reset();
    co_return copied;
  }
  result<std::string> stored = co_await kept.store(place, limit);
  if (!stored)
    co_return stored.why();
  co_return nothing();
}

task<result<std::uint64_t>> mirror::repair(patience limit) {
  status read = co_await read_notes(limit);
  if (!read)
    co_return read.why();
  result<tree_reading> theirs = co_await read_tree(copy_, copy_prefix_, limit);
  if (!theirs)
    co_return theirs.why();
  result<tree_reading> ours = co_await read_tree(original_, prefix_, limit);
  if (!ours)
    co_return ours.why();
  std::map<std::string, entry> copies;
  for (auto& e : theirs->found)
    copies[e.key] = e;
  std::uint64_t written = 0;
  for (const auto& e : ours->found) {
    auto key = e.key.substr(prefix_.size());
    auto n = notes_.find(key);
    bool copied = n != notes_.end() && !n->second.erased && n->second.original == e.index;
    const auto& there = copies[copy_prefix_ + key];
    bool equal = there.index > 0 && there.value == e.value && there.flags == e.flags;
    if (!copied || equal)
      continue;
    // The note and the copy are as they were read.
    detail::transaction t;
    t.check_index(name_ + "/at/" + key, n->second.index).cas(copy_prefix_ + key, e.value, there.index, e.flags);
    detail::decision made = co_await detail::commit(copy_, t, limit, detail::repeats::harmless);
    if (detail::is_made(made))
      ++written;
    bool decided = detail::is_made(made) || detail::is_conflict(made);
    if (!decided) {
      error why = made.judge();
      co_return why;
    }
  }
  co_return written;
}

} // namespace v0
} // namespace belay
