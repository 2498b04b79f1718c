#include "protocol/state/changes/change_window.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

namespace belay::state {

namespace {

/// Overhead of a row besides its texts: numbers, rare members, and the allocator's.
constexpr std::size_t row_bytes = kv_entry_ptr::bytes_beside() + 96;

std::size_t bytes_of_row(const kv_entry_ptr& e) {
  return e ? row_bytes + e->key.size() + e->value->size() + e->session.size() : 0;
}

bool lies_under(std::string_view key, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return key.starts_with(p); });
}

} // namespace

std::string to_string(const change_position& p) {
  auto text = to_string(p.index);
  if (!p.is_whole())
    (text += '.') += std::to_string(p.effect);
  return text;
}

std::string to_string(const change_cursor& c) {
  auto text = to_string(c.position);
  if (!c.history.is_none())
    (text += '@') += to_string(c.history);
  return text;
}

std::optional<change_cursor> read_cursor(std::string_view text) {
  change_cursor c;
  if (const auto at = text.find('@'); at != text.npos) {
    const auto history = from_hex(text.substr(at + 1));
    if (!history || *history == 0)
      return std::nullopt;
    c.history = history_id{*history};
    text = text.substr(0, at);
  }
  const auto dot = text.find('.');
  const auto index = go_compat::parse_uint(text.substr(0, dot));
  if (!index)
    return std::nullopt;
  c.position.index = log_index{*index};
  if (dot != text.npos) {
    const auto effect = go_compat::parse_uint(text.substr(dot + 1));
    if (!effect)
      return std::nullopt;
    c.position.effect = *effect;
  }
  return c;
}

/// Counts rows before and after for each change, though two changes may share one: an upper bound.
std::size_t change_window::bytes_of(const slot& s) {
  return slot_bytes + bytes_of_row(s.change.before) + bytes_of_row(s.change.after);
}

std::size_t change_window::changes_max_of_entry(std::size_t bytes_max) {
  return std::min(changes_of_entry_max, bytes_max / (slot_bytes + row_bytes));
}

std::uint64_t change_window::hash_of(std::string_view key) {
  return std::hash<std::string_view>{}(key);
}

kv_change change_window::shown(const slot& s) {
  const auto& c = s.change;
  const bool expired = c.expired && !MUTANT(expired_told_as_deleted);
  return {s.index, s.effect,
          c.after   ? change_kind::set
          : expired ? change_kind::expired
                    : change_kind::removed,
          c.after ? c.after : c.before, c.before ? c.before->modify_index : log_index{}};
}

void change_window::limit(std::size_t bytes_max) {
  bytes_max_ = bytes_max;
  evict();
}

void change_window::begin_at(log_index applied) {
  PRECONDITION(applied >= applied_);
  if (!held_->slots.empty()) {
    first_ += held_->slots.size();
    if (held_->slots.size() > freed_at_once)
      let_go_.push_back(std::move(held_));
    held_ = std::make_unique<contents>();
    newest_ = {};
  }
  copied_ = false;
  left_alone_.clear();
  bytes_ = 0;
  applied_ = floor_ = applied;
}

void change_window::add(log_index index, undo_log& log) {
  PRECONDITION(index > applied_);
  applied_ = index;
  std::uint64_t effect = 0;
  if (!log.take_keys([&](key_change&& each) { push(index, effect++, std::move(each)); }))
    begin_at(index); // the whole entry would be evicted
  evict();
  INVARIANT(floor_ <= applied_);
  INVARIANT(!held_->slots.empty() || bytes_ == 0);
  INVARIANT(newest_.empty() == held_->slots.empty());
  INVARIANT(newest_.size() <= held_->slots.size());
}

void change_window::push(log_index index, std::uint64_t effect, key_change change) {
  INVARIANT(index > floor_);
  INVARIANT(effect <= std::numeric_limits<std::uint32_t>::max());
  slot s{index, static_cast<std::uint32_t>(effect), 0, std::move(change), 0, 0, 0};
  INVARIANT(held_->slots.empty() || held_->slots.back().position() < s.position());
  const auto number = first_ + held_->slots.size();
  s.hash = hash_of(s.row().key);
  s.bytes = bytes_of(s);
  auto& newest = newest_[s.hash];
  s.previous = std::exchange(newest, number);
  INVARIANT(s.previous < number);
  if (s.previous >= first_) {
    auto& previous = held_->slots[static_cast<std::size_t>(s.previous - first_)];
    INVARIANT(previous.hash == s.hash);
    INVARIANT(previous.next == 0); // it was the newest of its key
    previous.next = static_cast<std::uint32_t>(number - s.previous);
  }
  bytes_ += s.bytes;
  held_->slots.push_back(std::move(s));
}

/// Prefetches rows that are evicted soon: they have long left the cache.
void change_window::fetch_next_to_leave() const {
  constexpr std::size_t rows_ahead = 8;
  if (held_->slots.size() <= rows_ahead)
    return;
  const auto& later = held_->slots[rows_ahead].change;
  fetch_shared(later.before);
  fetch_shared(later.after);
}

void change_window::evict() {
  while (bytes_ > bytes_max_ && !held_->slots.empty()) {
    const auto leaving = held_->slots.front().index;
    floor_ = MUTANT(window_drops_half_an_entry) ? leaving.prev() : leaving;
    while (!held_->slots.empty() && held_->slots.front().index == leaving) {
      fetch_next_to_leave();
      const auto& oldest = held_->slots.front();
      INVARIANT_IN_DEVELOPMENT(oldest.bytes <= bytes_);
      bytes_ -= oldest.bytes;
      if (const auto at = newest_.find(oldest.hash); at->second == first_)
        newest_.erase(at);
      if (const auto next = first_ + oldest.next;
          copied_ && oldest.next != 0 && next < uncopied_ && goes_on(numbered(next)))
        left_alone_.push_back(next);
      held_->slots.pop_front();
      ++first_;
      if (MUTANT(window_drops_half_an_entry) && bytes_ <= bytes_max_)
        break;
    }
  }
  INVARIANT(held_->slots.empty() || held_->slots.front().index > floor_); // whole entries leave
}

unkept_changes change_window::take_unkept(bool all) {
  INVARIANT(!copied_ || copied_up_to_ <= applied_);
  unkept_changes lacks;
  lacks.floor = floor_;
  if (copied_ && !all)
    lacks.behind = copied_up_to_;
  else
    uncopied_ = first_;
  const auto end = first_ + held_->slots.size();
  uncopied_ = std::max(uncopied_, first_);
  INVARIANT(uncopied_ <= end); // else a change would never reach the copy
  lacks.list.reserve(left_alone_.size() + static_cast<std::size_t>(end - uncopied_));
  const auto take = [&](std::uint64_t n) {
    const auto& s = numbered(n);
    lacks.list.push_back({s.index, s.effect, s.change, goes_on(s)});
  };
  if (lacks.behind)
    for (const auto n : left_alone_)
      if (n >= first_ && !MUTANT(kept_window_with_a_hole)) {
        PROBE("changes: a kept change does not go on from another one any more");
        take(n);
      }
  left_alone_.clear();
  for (auto n = uncopied_; n != end; ++n)
    take(n);
  uncopied_ = end;
  copied_ = true;
  copied_up_to_ = applied_;
  return lacks;
}

void change_window::load(log_index floor, std::vector<kept_change> list) {
  PRECONDITION(held_->slots.empty());
  PRECONDITION(floor <= applied_);
  floor_ = floor;
  for (auto& each : list)
    push(each.index, each.effect, std::move(each.change));
  INVARIANT(newest_.empty() == held_->slots.empty());
  uncopied_ = first_ + held_->slots.size();
  copied_ = true;
  copied_up_to_ = applied_;
}

std::optional<std::string> change_window::recount() const {
  std::size_t bytes = 0;
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> newest;
  std::uint64_t number = first_;
  change_position last;
  for (const auto& s : held_->slots) {
    if (s.hash != hash_of(s.row().key) || s.bytes != bytes_of(s))
      return "hash or bytes of the change of " + std::string(s.row().key);
    if (s.index <= floor_ || s.index > applied_ || (number != first_ && s.position() <= last))
      return "the order of the change of " + std::string(s.row().key);
    const auto before = newest.find(s.hash);
    if (before == newest.end() ? s.previous >= first_
                               : s.previous != before->second || numbered(s.previous).next != number - s.previous)
      return "the change before that of " + std::string(s.row().key);
    newest[s.hash] = number++;
    bytes += s.bytes;
    last = s.position();
  }
  for (const auto& [hash, at] : newest)
    if (numbered(at).next != 0)
      return "the change after that of " + std::string(numbered(at).row().key);
  if (bytes != bytes_)
    return "bytes";
  if (newest != newest_)
    return "newest";
  return std::nullopt;
}

bool change_window::covers(const change_position& p) const {
  if (MUTANT(window_floor_one_too_low) && p.index.next() >= floor_)
    return true;
  return p.index > floor_ || (p.index == floor_ && p.is_whole());
}

change_rows change_window::read(const kv_changes& q) const {
  change_rows found;
  found.floor = floor_;
  found.applied = applied_;
  found.reached = q.after;
  if (applied_ < q.after.index && !MUTANT(laggard_sends_what_is_old)) { // it is still to come; others are known
    PROBE("changes: asked for what is not applied here yet");
    return found;
  }
  if (!covers(q.after)) {
    PROBE("changes: asked for what is below the floor");
    found.gone = true;
    found.reached = change_position{applied_};
    return found;
  }
  auto after = applied_ < q.after.index ? change_position{floor_} : q.after;
  after.effect = MUTANT(rest_of_entry_lost_at_a_cut) ? change_position::all_effects : after.effect;
  auto at = std::partition_point(held_->slots.begin(), held_->slots.end(),
                                 [&](const slot& s) { return s.position() <= after; });
  std::size_t value_bytes = 0, looked_at = 0;
  for (; at != held_->slots.end(); ++at) {
    if (found.list.size() == changes_max || value_bytes >= value_bytes_max || looked_at == looked_at_max) {
      found.more = true;
      // The whole entry, if the last change examined is its last.
      const auto& last = *std::prev(at);
      found.reached = at->index != last.index ? change_position{last.index} : last.position();
      INVARIANT(found.reached > q.after); // else the client would ask for the same for ever
      return found;
    }
    ++looked_at;
    if (!lies_under(at->row().key, q.prefixes))
      continue;
    auto one = shown(*at);
    if (!q.includes(one.kind))
      continue;
    value_bytes += one.row->key.size() + (one.kind == change_kind::set ? one.row->value->size() : 0);
    found.list.push_back(std::move(one));
  }
  found.reached = std::max(found.reached, change_position{applied_});
  return found;
}

template <class F>
void change_window::for_each_of(const std::string& key, F&& f) const {
  const auto at = newest_.find(hash_of(key));
  for (auto n = at == newest_.end() ? 0 : at->second; n >= first_; n = numbered(n).previous)
    if (numbered(n).row().key == key && !f(numbered(n)))
      return;
}

change_rows change_window::history(const std::string& key) const {
  change_rows found;
  found.floor = floor_;
  found.applied = applied_;
  found.reached = change_position{applied_};
  for_each_of(key, [&](const slot& s) {
    if (found.list.size() == history_max) {
      found.more = true;
      return false;
    }
    found.list.push_back(shown(s));
    return true;
  });
  return found;
}

kv_entry_ptr change_window::row_at(const std::string& key, log_index index, kv_entry_ptr now) const {
  PRECONDITION(floor_ <= index);
  PRECONDITION(index <= applied_);
  for_each_of(key, [&](const slot& s) {
    if (s.index <= index)
      return false;
    now = s.change.before;
    return true;
  });
  return now;
}

} // namespace belay::state
