#pragma once
// An ordered map for many rows: sorted chunks that know the newest index among their rows, so that "what is the largest
// index under this prefix" looks into two chunks and at one number of each chunk between them.

#include "protocol/base/ids.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::state {

/// A value whose key need not be stored beside it.
template <class Value>
concept tells_its_key = requires(const Value& v) {
  { v.key() } -> std::same_as<const std::string&>;
};

/// `Value` has `log_index index() const`. A chunk is split when it holds more than `chunk_max` rows.
/// 256 rows: a million keys have 4,000 to 8,000 fences, few enough to stay in the processor's cache.
template <class Value, std::size_t chunk_max = 256>
class chunked_map {
public:
  struct slot_with_key {
    std::string name;
    Value value;
    const std::string& key() const { return name; }
  };
  struct slot_of_value {
    Value value;
    const std::string& key() const { return value.key(); }
  };
  using slot = std::conditional_t<tells_its_key<Value>, slot_of_value, slot_with_key>;

private:
  struct chunk {
    std::vector<slot> slots;
    /// The bytes all keys of the chunk begin with (perhaps not all of them), and of each key the eight bytes behind, as
    /// a number: a search compares numbers that lie side by side, and reads a key only where they are equal.
    std::string shared;
    std::vector<std::uint64_t> heads;
    log_index newest;
  };
  using chunks = std::map<std::string, std::unique_ptr<chunk>, std::less<>>;

public:
  /// Where a key is, or where it would be inserted. Valid until the next change of the map.
  struct place {
    typename chunks::iterator at;
    std::size_t position = 0;
    bool found = false;
  };

  /// Walks the rows in ascending order.
  class const_iterator {
  public:
    const slot& operator*() const { return at_->second->slots[position_]; }
    const slot* operator->() const { return &**this; }
    const_iterator& operator++() {
      ++position_;
      settle();
      return *this;
    }
    bool operator==(const const_iterator& other) const { return at_ == other.at_ && position_ == other.position_; }

  private:
    friend chunked_map;
    const_iterator(typename chunks::const_iterator at, std::size_t position, typename chunks::const_iterator end)
        : at_(at), position_(position), end_(end) {
      settle();
    }
    void settle() {
      while (at_ != end_ && position_ == at_->second->slots.size()) {
        ++at_;
        position_ = 0;
      }
    }

    typename chunks::const_iterator at_;
    std::size_t position_;
    typename chunks::const_iterator end_;
  };

  chunked_map() { chunks_.emplace(std::string(), std::make_unique<chunk>()); }

  place locate(std::string_view key) {
    auto at = std::prev(chunks_.upper_bound(key));
    const auto position = position_in(*at->second, key);
    const auto& slots = at->second->slots;
    return {at, position, position < slots.size() && slots[position].key() == key};
  }
  Value& value(const place& p) { return p.at->second->slots[p.position].value; }
  const Value& value(const place& p) const { return p.at->second->slots[p.position].value; }

  /// Inserts or replaces. @pre `key` is that of `v`, if it tells its key
  void put(const place& p, std::string_view key, Value v) {
    chunk& c = *p.at->second;
    const auto index = v.index();
    if (p.found) {
      auto& held = c.slots[p.position].value;
      const auto before = held.index();
      held = std::move(v);
      if (before == c.newest && index < before)
        recount(c);
      else
        c.newest = std::max(c.newest, index);
      return;
    }
    ++size_;
    if (c.slots.size() < chunk_max) {
      insert(c, p.position, key, std::move(v));
      c.newest = std::max(c.newest, index);
      return;
    }
    split(p, key, std::move(v));
  }

  bool is_behind_all(std::string_view key) const {
    const auto last = std::prev(chunks_.end());
    const auto& slots = last->second->slots;
    return slots.empty() ? key >= last->first : key > slots.back().key();
  }
  /// Inserts without looking for the place. @pre is_behind_all(key)
  void append(std::string_view key, Value v) {
    auto at = std::prev(chunks_.end());
    if (at->second->slots.size() >= chunk_max) {
      auto fresh = std::make_unique<chunk>();
      fresh->slots.reserve(chunk_max);
      fresh->heads.reserve(chunk_max);
      at = chunks_.emplace_hint(chunks_.end(), std::string(key), std::move(fresh));
    }
    chunk& c = *at->second;
    c.newest = std::max(c.newest, v.index());
    insert(c, c.slots.size(), key, std::move(v));
    ++size_;
  }

  /// @pre p.found
  void erase(const place& p) {
    chunk& c = *p.at->second;
    const auto index = value(p).index();
    c.slots.erase(c.slots.begin() + static_cast<std::ptrdiff_t>(p.position));
    c.heads.erase(c.heads.begin() + static_cast<std::ptrdiff_t>(p.position));
    --size_;
    if (index == c.newest)
      recount(c);
    tidy(p.at);
  }

  /// Calls `f(slot)` for every row under the prefix, then removes them. @returns how many.
  template <class F>
  std::size_t erase_under(std::string_view prefix, F&& f) {
    std::size_t removed = 0;
    auto at = std::prev(chunks_.upper_bound(prefix));
    auto first = position_in(*at->second, prefix);
    while (at != chunks_.end()) {
      auto& slots = at->second->slots;
      auto last = first;
      for (; last < slots.size() && starts_with(slots[last].key(), prefix); ++last)
        f(slots[last]);
      const bool more = last == slots.size();
      removed += last - first;
      size_ -= last - first;
      cut(*at->second, first, last);
      recount(*at->second);
      // The chunk with the empty fence stays, so that every key has a chunk to be looked for in.
      if (slots.empty() && !at->first.empty())
        at = chunks_.erase(at);
      else
        ++at;
      if (!more)
        break;
      first = 0;
    }
    return removed;
  }

  const Value* find(std::string_view key) const {
    auto at = std::prev(chunks_.upper_bound(key));
    const auto& slots = at->second->slots;
    const auto position = position_in(*at->second, key);
    return position < slots.size() && slots[position].key() == key ? &slots[position].value : nullptr;
  }

  const_iterator lower_bound(std::string_view key) const {
    auto at = std::prev(chunks_.upper_bound(key));
    return {at, position_in(*at->second, key), chunks_.end()};
  }
  const_iterator begin() const { return {chunks_.begin(), 0, chunks_.end()}; }
  const_iterator end() const { return {chunks_.end(), 0, chunks_.end()}; }
  std::size_t size() const { return size_; }

  /// Largest index of the rows under the prefix; zero: none.
  log_index newest_under(std::string_view prefix) const {
    log_index newest;
    for (auto at = std::prev(chunks_.upper_bound(prefix)); at != chunks_.end(); ++at) {
      const bool begins_inside = starts_with(at->first, prefix);
      if (!begins_inside && at->first > prefix)
        break;
      const auto next = std::next(at);
      // All keys between two fences with the prefix have it too.
      if (begins_inside && next != chunks_.end() && starts_with(next->first, prefix)) {
        newest = std::max(newest, at->second->newest);
        continue;
      }
      const auto& slots = at->second->slots;
      for (auto i = position_in(*at->second, prefix); i < slots.size() && starts_with(slots[i].key(), prefix); ++i)
        newest = std::max(newest, slots[i].value.index());
    }
    return newest;
  }

private:
  static std::uint64_t head_of(std::string_view rest) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < 8; ++i)
      head = head << 8 | (i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0);
    return head;
  }

  static std::size_t position_in(const chunk& c, std::string_view key) {
    const auto order = key.substr(0, c.shared.size()).compare(c.shared);
    if (order != 0)
      return order < 0 ? 0 : c.slots.size();
    const auto head = head_of(key.substr(c.shared.size()));
    auto first = std::lower_bound(c.heads.begin(), c.heads.end(), head) - c.heads.begin();
    const auto count = static_cast<std::ptrdiff_t>(c.heads.size());
    if (first == count || c.heads[static_cast<std::size_t>(first)] != head)
      return static_cast<std::size_t>(first);
    const auto last = std::upper_bound(c.heads.begin() + first, c.heads.end(), head) - c.heads.begin();
    auto at = std::lower_bound(c.slots.begin() + first, c.slots.begin() + last, key,
                               [](const slot& s, std::string_view wanted) { return s.key() < wanted; });
    return static_cast<std::size_t>(at - c.slots.begin());
  }

  static slot slot_of(std::string_view key, Value v) {
    if constexpr (tells_its_key<Value>)
      return {std::move(v)};
    else
      return {std::string(key), std::move(v)};
  }

  static void insert(chunk& c, std::size_t position, std::string_view key, Value v) {
    const auto offset = static_cast<std::ptrdiff_t>(position);
    c.slots.insert(c.slots.begin() + offset, slot_of(key, std::move(v)));
    // A key between two others has what they share; only one at an end can have less.
    if (c.slots.size() > 1 && starts_with(key, c.shared))
      c.heads.insert(c.heads.begin() + offset, head_of(key.substr(c.shared.size())));
    else
      index_keys(c);
  }

  /// Works out `shared` and `heads` anew.
  static void index_keys(chunk& c) {
    c.shared.clear();
    c.heads.clear();
    if (c.slots.empty())
      return;
    const std::string_view low = c.slots.front().key(), high = c.slots.back().key();
    const auto end = std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first;
    c.shared = low.substr(0, static_cast<std::size_t>(end - low.begin()));
    for (const auto& s : c.slots)
      c.heads.push_back(head_of(std::string_view(s.key()).substr(c.shared.size())));
  }

  /// Removes the rows [first, last) of a chunk.
  static void cut(chunk& c, std::size_t first, std::size_t last) {
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
    c.slots.erase(c.slots.begin() + from, c.slots.begin() + to);
    c.heads.erase(c.heads.begin() + from, c.heads.begin() + to);
  }

  static void recount(chunk& c) {
    c.newest = {};
    for (const auto& s : c.slots)
      c.newest = std::max(c.newest, s.value.index());
  }

  void split(const place& p, std::string_view key, Value v) {
    chunk& full = *p.at->second;
    const bool appends = p.position == full.slots.size() && std::next(p.at) == chunks_.end();
    auto upper = std::make_unique<chunk>();
    // Rows that arrive in ascending order leave full chunks behind instead of half-empty ones.
    const std::size_t middle = appends ? full.slots.size() : full.slots.size() / 2;
    upper->slots.assign(std::make_move_iterator(full.slots.begin() + static_cast<std::ptrdiff_t>(middle)),
                        std::make_move_iterator(full.slots.end()));
    full.slots.erase(full.slots.begin() + static_cast<std::ptrdiff_t>(middle), full.slots.end());
    auto& target = p.position > middle || appends ? *upper : full;
    const auto position = &target == &full ? p.position : p.position - middle;
    index_keys(full);
    index_keys(*upper);
    insert(target, position, key, std::move(v));
    recount(full);
    recount(*upper);
    auto fence = upper->slots.front().key();
    chunks_.emplace_hint(std::next(p.at), std::move(fence), std::move(upper));
  }

  /// Joins a chunk that became small with the next one: many deletions must not leave many tiny chunks.
  void tidy(typename chunks::iterator at) {
    chunk& c = *at->second;
    if (c.slots.size() > chunk_max / 8)
      return;
    if (c.slots.empty() && !at->first.empty()) {
      chunks_.erase(at);
      return;
    }
    auto next = std::next(at);
    if (next == chunks_.end() || c.slots.size() + next->second->slots.size() > chunk_max / 2)
      return;
    auto& rest = next->second->slots;
    c.slots.insert(c.slots.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    c.newest = std::max(c.newest, next->second->newest);
    index_keys(c);
    chunks_.erase(next);
  }

  chunks chunks_; // by fence: a chunk holds the keys from its fence up to the next one; the first fence is empty
  std::size_t size_ = 0;
};

} // namespace belay::state
