#pragma once
// An ordered map for many rows: sorted chunks that know the newest index among their rows. The
// largest index under a prefix takes a look into two chunks and one number of each between them.

#include "protocol/base/check.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/state/maps/separator_tree.hpp"

#include <boost/container/static_vector.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::state {

/// A value whose key need not be stored beside it.
template <class Value>
concept has_own_key = requires(const Value& v) {
  { v.key() } -> std::same_as<std::string_view>;
};

/// `Value` has `log_index index() const`, `std::uint64_t hash() const`. Chunks split above
/// `chunk_max` rows. 256: ten million keys need 40,000 to 80,000; their key heads fit the cache.
template <class Value, std::size_t chunk_max = 256, std::size_t node_max = 256>
class chunked_map {
public:
  struct slot_with_key {
    std::string name;
    Value value;
    const std::string& key() const { return name; }
  };
  struct slot_of_value {
    Value value;
    std::string_view key() const { return value.key(); }
  };
  using slot = std::conditional_t<has_own_key<Value>, slot_of_value, slot_with_key>;

private:
  using heads_of_keys = key_heads<boost::container::static_vector<std::uint64_t, chunk_max>>;
  struct chunk {
    std::vector<slot> slots;
    log_index newest;
    std::uint64_t hashes = 0; ///< sum over its rows
    heads_of_keys heads;
  };
  using tree = separator_tree<chunk, node_max>;
  using chunk_position = typename tree::position;

public:
  /// Rows that were cut off a map together, in order. They are removed one by one,
  /// last first; the caller gets back their memory chunk by chunk and frees it.
  class fragment {
  public:
    std::size_t size() const { return size_; }
    /// Sum of the hashes of its rows. @pre no row has been dropped
    std::uint64_t hashes() const {
      std::uint64_t sum = 0;
      for (const auto& c : chunks_)
        sum += c->hashes;
      return sum;
    }
    template <class F>
    void for_each(F&& f) const {
      for (const auto& c : chunks_)
        for (std::size_t i = 0; i < rows_of(c); ++i)
          f(c->slots[i]);
    }
    /// @pre size() > 0
    const slot& last() const {
      PRECONDITION(size_ > 0);
      return chunks_.back()->slots[rows_of(chunks_.back()) - 1];
    }
    /// Removes last(). @returns the memory of its chunk if that was its last row, else null
    std::shared_ptr<const void> drop_last() {
      PRECONDITION(size_ > 0);
      --size_;
      if (++dropped_ < chunks_.back()->slots.size())
        return nullptr;
      dropped_ = 0;
      std::shared_ptr<const void> memory(std::move(chunks_.back()));
      chunks_.pop_back();
      INVARIANT((size_ == 0) == chunks_.empty());
      return memory;
    }
    /// Calls `f(slot)` for the row of that key, if present, and removes it.
    template <class F>
    void extract(std::string_view key, F&& f) {
      const auto at = std::partition_point(chunks_.begin(), chunks_.end(),
                                           [&](const auto& c) { return c->slots.back().key() < key; });
      if (at == chunks_.end())
        return;
      const auto found = find_in(**at, key);
      if (!found.equal || found.index >= rows_of(*at))
        return;
      auto& c = tree::owned(*at);
      f(c.slots[found.index]);
      --size_;
      cut(c, found.index, found.index + 1);
      recount(c);
      if ((*at)->slots.size() == (&*at == &chunks_.back() ? dropped_ : 0)) {
        if (&*at == &chunks_.back())
          dropped_ = 0;
        chunks_.erase(at);
      }
      INVARIANT((size_ == 0) == chunks_.empty());
    }

  private:
    friend chunked_map;
    std::size_t rows_of(const std::shared_ptr<chunk>& c) const {
      return c->slots.size() - (&c == &chunks_.back() ? dropped_ : 0);
    }
    void add(std::shared_ptr<chunk> c) {
      if (c->slots.empty())
        return;
      size_ += c->slots.size();
      chunks_.push_back(std::move(c));
    }

    std::vector<std::shared_ptr<chunk>> chunks_; // none is empty
    std::size_t size_ = 0, dropped_ = 0;         // dropped: of the rows at the end of the last chunk
  };

  /// Position of a key, or where to insert it. Valid until the next change of the map.
  struct location {
    chunk_position at;
    std::size_t position = 0;
    bool found = false;
  };

  /// Iterates over the rows in ascending order.
  class const_iterator {
  public:
    const slot& operator*() const { return at_.chunk().slots[position_]; }
    const slot* operator->() const { return &**this; }
    const_iterator& operator++() {
      ++position_;
      settle();
      return *this;
    }
    bool operator==(const const_iterator& other) const { return at_ == other.at_ && position_ == other.position_; }

  private:
    friend chunked_map;
    const_iterator(chunk_position at, std::size_t position, chunk_position end)
        : at_(at), position_(position), end_(end) {
      settle();
    }
    void settle() {
      while (at_ != end_ && position_ == at_.chunk().slots.size()) {
        ++at_;
        position_ = 0;
      }
    }

    chunk_position at_;
    std::size_t position_;
    chunk_position end_;
  };

  location locate(std::string_view key) {
    const auto at = chunks_.holding(key);
    const auto found = find_in(at.chunk(), key);
    return {at, found.index, found.equal};
  }
  const Value& value(const location& p) const { return p.at.chunk().slots[p.position].value; }

  /// Inserts or replaces. @pre `key` is `v`'s own key, if it has one
  void put(const location& p, std::string_view key, Value v) {
    chunk& c = p.at.own();
    PRECONDITION(p.position + (p.found ? 1 : 0) <= c.slots.size()); // the map did not change since locate()
    INVARIANT_IN_DEVELOPMENT(!p.found || c.slots[p.position].key() == key);
    const auto index = v.index();
    if (p.found) {
      auto& held = c.slots[p.position].value;
      const auto before = held.index();
      c.hashes += v.hash() - held.hash();
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
    if (!pass_on(p, key, v))
      split(p, key, std::move(v));
  }

  bool is_behind_all(std::string_view key) const {
    const auto last = chunks_.last();
    const auto& slots = last.chunk().slots;
    return slots.empty() ? key >= last.separator() : key > slots.back().key();
  }
  /// Inserts at the end, without a search. @pre is_behind_all(key)
  void append(std::string_view key, Value v) {
    INVARIANT_IN_DEVELOPMENT(is_behind_all(key));
    auto at = chunks_.last();
    if (at.chunk().slots.size() >= chunk_max) {
      auto fresh = std::make_shared<chunk>();
      fresh->slots.reserve(chunk_max);
      at = chunks_.insert_behind(at, std::string(key), std::move(fresh));
    }
    chunk& c = at.own();
    c.newest = std::max(c.newest, v.index());
    insert(c, c.slots.size(), key, std::move(v));
    ++size_;
  }

  /// @pre p.found
  void erase(const location& p) {
    PRECONDITION(p.found);
    PRECONDITION(p.position < p.at.chunk().slots.size()); // the map did not change since locate()
    INVARIANT(size_ > 0);
    const auto index = value(p).index();
    chunk& c = p.at.own();
    cut(c, p.position, p.position + 1);
    --size_;
    if (index == c.newest)
      recount(c);
    tidy(p.at);
  }

  /// Cuts off all rows under the prefix. O(chunks).
  fragment cut_under(std::string_view prefix) {
    fragment rows;
    const auto under = [&](const chunk& c, std::size_t from) {
      auto end = from;
      while (end < c.slots.size() && starts_with(c.slots[end].key(), prefix))
        ++end;
      return end;
    };
    const auto begin = chunks_.holding(prefix);
    const auto from = position_in(begin.chunk(), prefix), to = under(begin.chunk(), from);
    const bool goes_on = to == begin.chunk().slots.size();
    if (from != to)
      rows.add(cut_off(begin.own(), from, to));
    if (goes_on) {
      auto end = begin.next();
      const auto begins_inside = [&] { return end != chunks_.end() && starts_with(end.separator(), prefix); };
      while (begins_inside() && (end.chunk().slots.empty() || starts_with(end.chunk().slots.back().key(), prefix)))
        ++end;
      end = chunks_.take(begin.next(), end, [&](std::shared_ptr<chunk> c) { rows.add(std::move(c)); });
      if (begins_inside())
        rows.add(cut_off(end.own(), 0, under(end.chunk(), 0)));
    }
    if (begin.chunk().slots.empty() && begin != chunks_.begin())
      chunks_.erase(begin);
    INVARIANT(rows.size() <= size_);
    size_ -= rows.size();
    return rows;
  }
  /// Undoes cut_under(). @pre no row is under the prefix, none of the fragment was dropped
  void put_back(std::string_view prefix, fragment rows) {
    PRECONDITION(rows.dropped_ == 0);
    const auto first = lower_bound(prefix);
    PRECONDITION(first == end() || !starts_with(first->key(), prefix)); // else a key would be there twice
    // Rows after the prefix in chunks that begin under it.
    auto at = chunks_.holding(prefix);
    std::vector<std::shared_ptr<chunk>> behind;
    behind.push_back(cut_off(at.own(), position_in(at.chunk(), prefix), at.chunk().slots.size()));
    auto end = at.next();
    while (end != chunks_.end() && starts_with(end.separator(), prefix))
      ++end;
    chunks_.take(at.next(), end, [&](std::shared_ptr<chunk> c) { behind.push_back(std::move(c)); });
    size_ += rows.size();
    for (auto* list : {&rows.chunks_, &behind})
      for (auto& c : *list)
        if (!c->slots.empty() && at.chunk().slots.empty()) {
          at.own() = *c;
        } else if (!c->slots.empty()) {
          auto separator = std::string(c->slots.front().key());
          at = chunks_.insert_behind(at, std::move(separator), std::move(c));
        }
  }

  const Value* find(std::string_view key) const {
    const auto at = chunks_.holding(key);
    const auto found = find_in(at.chunk(), key);
    return found.equal ? &at.chunk().slots[found.index].value : nullptr;
  }

  /// A snapshot of the rows under a prefix. Costs time and memory in proportion to the chunks;
  /// while it exists, a change of a shared chunk copies that. Any thread may read and destroy it.
  class view {
  public:
    /// Position of the reader.
    struct location {
      std::size_t chunk = 0, slot = 0;
    };
    bool at_end(const location& p) const {
      return p.chunk == chunks_.size() || !starts_with(chunks_[p.chunk]->slots[p.slot].key(), prefix_);
    }
    /// @pre not at_end()
    const slot& at(const location& p) const { return chunks_[p.chunk]->slots[p.slot]; }
    location next(location p) const {
      if (++p.slot == chunks_[p.chunk]->slots.size())
        p = {p.chunk + 1, 0};
      return p;
    }
    location begin() const { return lower_bound(prefix_); }
    location end() const { return {chunks_.size(), 0}; }
    /// The first row whose key is not less.
    location lower_bound(std::string_view key) const {
      const auto at = std::partition_point(chunks_.begin(), chunks_.end(),
                                           [&](const auto& c) { return c->slots.back().key() < key; });
      const auto c = static_cast<std::size_t>(at - chunks_.begin());
      return {c, at == chunks_.end() ? 0 : position_in(**at, key)};
    }
    /// Null: no row has that key.
    const Value* find(std::string_view key) const {
      const auto p = lower_bound(key);
      return p.chunk != chunks_.size() && at(p).key() == key ? &at(p).value : nullptr;
    }

  private:
    friend chunked_map;
    std::string prefix_;
    std::vector<std::shared_ptr<const chunk>> chunks_; // none is empty
  };
  view view_of(std::string_view prefix) const {
    view v;
    v.prefix_ = prefix;
    auto at = chunks_.holding(prefix);
    do {
      if (!at.chunk().slots.empty())
        v.chunks_.push_back(at.shared());
      ++at;
    } while (at != chunks_.end() && starts_with(at.separator(), prefix));
    return v;
  }
  /// Upper estimate of the rows under the prefix: all rows of the chunks that have one.
  std::size_t about_under(std::string_view prefix, std::size_t enough) const {
    std::size_t rows = 0;
    auto at = chunks_.holding(prefix);
    do {
      rows += at.chunk().slots.size();
      ++at;
    } while (rows < enough && at != chunks_.end() && starts_with(at.separator(), prefix));
    return rows;
  }

  const_iterator lower_bound(std::string_view key) const {
    const auto at = chunks_.holding(key);
    return {at, position_in(at.chunk(), key), chunks_.end()};
  }
  const_iterator begin() const { return {chunks_.begin(), 0, chunks_.end()}; }
  const_iterator end() const { return {chunks_.end(), 0, chunks_.end()}; }
  std::size_t size() const { return size_; }
  /// Recomputes derived data from the rows. @returns what differs; nullopt: nothing
  std::optional<std::string> recount() const {
    std::size_t size = 0;
    std::string_view last;
    for (auto at = chunks_.begin(); at != chunks_.end(); ++at) {
      log_index newest;
      std::uint64_t hashes = 0;
      for (const auto& each : at.chunk().slots) {
        newest = std::max(newest, each.value.index());
        hashes += each.value.hash();
        if (size++ != 0 && !(last < each.key()))
          return "the order of row " + std::string(each.key());
        last = each.key();
        if (find(each.key()) != &each.value)
          return "the place of row " + std::string(each.key());
      }
      if (newest != at.chunk().newest)
        return "the newest index of the chunk of " + at.separator();
      if (hashes != at.chunk().hashes)
        return "the sum of hashes of the chunk of " + at.separator();
    }
    return size == size_ ? std::nullopt : std::optional<std::string>("the number of rows");
  }
  /// Counts the chunks, for tests.
  std::size_t chunks() const {
    std::size_t n = 0;
    for (auto at = chunks_.begin(); at != chunks_.end(); ++at)
      ++n;
    return n;
  }

  /// Prefetches what locate() reads for these keys, and calls `fetch_row(value)` for likely rows,
  /// to prefetch what they point to. The cache misses of all searches overlap. Changes nothing.
  template <class F>
  void fetch(std::span<const std::string_view> keys, F&& fetch_row) const {
    std::array<const chunk*, searched_together> in;
    std::array<typename heads_of_keys::search, searched_together> among;
    while (!keys.empty()) {
      const auto count = std::min(searched_together, keys.size());
      chunks_.nearly_holding(keys.first(count), in);
      for (std::size_t i = 0; i < count; ++i) {
        fetch_memory(in[i]);
        in[i]->heads.fetch();
      }
      for (std::size_t i = 0; i < count; ++i)
        among[i] = in[i]->heads.search_for(keys[i]);
      search_together(std::span(among).first(count));
      for (std::size_t i = 0; i < count; ++i)
        fetch_memory(in[i]->slots.data() + among[i].index(), sizeof(slot));
      for (std::size_t i = 0; i < count; ++i)
        if (const auto index = among[i].index(); index < in[i]->slots.size())
          fetch_row(in[i]->slots[index].value);
      keys = keys.subspan(count);
    }
  }

  /// Largest index of the rows under the prefix; zero: none.
  log_index newest_under(std::string_view prefix) const {
    log_index newest;
    for (auto at = chunks_.holding(prefix); at != chunks_.end(); ++at) {
      const bool begins_inside = starts_with(at.separator(), prefix);
      if (!begins_inside && at.separator() > prefix)
        break;
      const auto next = at.next();
      // All keys between two separators with the prefix have it, too.
      if (begins_inside && next != chunks_.end() && starts_with(next.separator(), prefix)) {
        newest = std::max(newest, at.chunk().newest);
        continue;
      }
      const auto& slots = at.chunk().slots;
      for (auto i = position_in(at.chunk(), prefix); i < slots.size() && starts_with(slots[i].key(), prefix); ++i)
        newest = std::max(newest, slots[i].value.index());
    }
    return newest;
  }

private:
  static auto keys_of(const chunk& c) {
    return [&c](std::size_t i) -> decltype(auto) { return c.slots[i].key(); };
  }
  static auto find_in(const chunk& c, std::string_view key) { return c.heads.find(key, keys_of(c)); }
  static std::size_t position_in(const chunk& c, std::string_view key) { return find_in(c, key).index; }

  static slot slot_of(std::string_view key, Value v) {
    if constexpr (has_own_key<Value>)
      return {std::move(v)};
    else
      return {std::string(key), std::move(v)};
  }

  static void insert(chunk& c, std::size_t position, std::string_view key, Value v) {
    c.hashes += v.hash();
    const auto offset = static_cast<std::ptrdiff_t>(position);
    c.slots.insert(c.slots.begin() + offset, slot_of(key, std::move(v)));
    c.heads.inserted(position, key, keys_of(c));
    INVARIANT(c.heads.count() == c.slots.size());
    INVARIANT(c.slots.size() <= chunk_max);
    INVARIANT_IN_DEVELOPMENT(position == 0 || c.slots[position - 1].key() < key);
    INVARIANT_IN_DEVELOPMENT(position + 1 == c.slots.size() || key < c.slots[position + 1].key());
  }
  static void index_keys(chunk& c) { c.heads.assign(c.slots.size(), keys_of(c)); }

  /// Removes the rows [first, last) of a chunk.
  static void cut(chunk& c, std::size_t first, std::size_t last) {
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
    for (auto i = first; i < last; ++i)
      c.hashes -= c.slots[i].value.hash();
    c.slots.erase(c.slots.begin() + from, c.slots.begin() + to);
    c.heads.erased(first, last);
    INVARIANT(c.heads.count() == c.slots.size());
    INVARIANT(!c.slots.empty() || c.hashes == 0); // the sum lacks no row and has none too many
  }

  /// Moves the rows from `first` on to the beginning of the next chunk.
  static void move_end(chunk& c, std::size_t first, chunk& behind) {
    behind.slots.insert(behind.slots.begin(),
                        std::make_move_iterator(c.slots.begin() + static_cast<std::ptrdiff_t>(first)),
                        std::make_move_iterator(c.slots.end()));
    index_keys(behind);
    cut(c, first, c.slots.size());
  }

  static void recount(chunk& c) {
    c.newest = {};
    c.hashes = 0;
    for (const auto& s : c.slots) {
      c.newest = std::max(c.newest, s.value.index());
      c.hashes += s.value.hash();
    }
  }

  /// Returns the rows [first, last) as a new chunk.
  static std::shared_ptr<chunk> cut_off(chunk& c, std::size_t first, std::size_t last) {
    auto rest = std::make_shared<chunk>();
    rest->slots.assign(std::make_move_iterator(c.slots.begin() + static_cast<std::ptrdiff_t>(first)),
                       std::make_move_iterator(c.slots.begin() + static_cast<std::ptrdiff_t>(last)));
    index_keys(*rest);
    recount(*rest);
    cut(c, first, last);
    recount(c);
    return rest;
  }

  /// Inserts into a full chunk by moving its last rows to the next, if that has space. Otherwise
  /// each row that comes late among nearly ascending keys would leave two half-full chunks.
  /// @returns false: no effect
  bool pass_on(const location& p, std::string_view key, Value& v) {
    const auto next = p.at.next();
    if (next == chunks_.end())
      return false;
    chunk& full = p.at.own();
    chunk& behind = next.own();
    const auto rows = full.slots.size();
    // Several at a time, to leave space for the next late row.
    const auto first = std::min(p.position, rows - std::max<std::size_t>(rows / 16, 1));
    const auto moved = rows - first;
    if (moved > rows / 2 || behind.slots.size() + moved >= chunk_max)
      return false;
    move_end(full, first, behind);
    chunks_.lower_separator(next, behind.slots.front().key());
    if (p.position > first)
      insert(behind, p.position - first, key, std::move(v));
    else
      insert(full, first, key, std::move(v));
    INVARIANT(full.slots.back().key() < behind.slots.front().key());
    recount(full);
    recount(behind);
    return true;
  }

  void split(const location& p, std::string_view key, Value v) {
    chunk& full = p.at.own();
    const auto rows = full.slots.size();
    // With (nearly) ascending keys, leave the lower chunk almost full instead of half empty.
    const bool ascending = p.at == chunks_.last() && p.position >= rows - rows / 4;
    auto upper = std::make_shared<chunk>();
    upper->slots.reserve(chunk_max); // a growing vector may reserve more than a chunk can use
    const std::size_t middle = ascending ? p.position : rows / 2;
    move_end(full, middle, *upper);
    index_keys(full); // the remaining keys share a longer prefix
    auto& target = p.position > middle || ascending ? *upper : full;
    const auto position = &target == &full ? p.position : p.position - middle;
    insert(target, position, key, std::move(v));
    INVARIANT(full.slots.empty() || full.slots.back().key() < upper->slots.front().key());
    recount(full);
    recount(*upper);
    auto separator = std::string(upper->slots.front().key());
    chunks_.insert_behind(p.at, std::move(separator), std::move(upper));
  }

  /// Merges a chunk that became small with the next: many deletions must not leave tiny chunks.
  void tidy(chunk_position at) {
    if (at.chunk().slots.size() > chunk_max / 8)
      return;
    chunk& c = at.own();
    if (c.slots.empty() && at != chunks_.begin()) {
      chunks_.erase(at);
      return;
    }
    const auto next = at.next();
    if (next == chunks_.end() || c.slots.size() + next.chunk().slots.size() > chunk_max / 2)
      return;
    auto& rest = next.own().slots;
    c.slots.insert(c.slots.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    c.newest = std::max(c.newest, next.chunk().newest);
    c.hashes += next.chunk().hashes;
    index_keys(c);
    chunks_.erase(next);
  }

  tree chunks_;
  std::size_t size_ = 0;
};

} // namespace belay::state
