#pragma once
// Search among sorted keys that are stored one by one elsewhere.

#include "protocol/base/check.hpp"
#include "protocol/base/fetch_memory.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace belay::state {

/// An index of sorted keys: (part of) their common prefix, and the next eight bytes of each as a
/// number. A search compares adjacent numbers, and reads a key only where they are equal. The owner
/// of the keys passes `key_at(i)` to functions that may need a key, and reports every change.
/// @tparam Numbers a vector of std::uint64_t; one with inline storage saves a cache miss
template <class Numbers>
class key_heads {
public:
  /// Lower-bound search for a number, step by step, so that the cache misses of many
  /// searches overlap. No step branches on a comparison: the processor cannot mispredict it.
  class search {
  public:
    search() = default;
    search(const key_heads& in, std::uint64_t head) : begin_(in.heads_.data()), left_(in.count()), head_(head) {}
    /// @returns false: the search is complete
    bool step() {
      if (left_ <= 1)
        return false;
      const auto half = left_ / 2;
      first_ += begin_[first_ + half - 1] < head_ ? half : 0;
      left_ -= half;
      return true;
    }
    /// Prefetches what the next step, or index(), reads.
    void fetch() const { fetch_memory(begin_ + first_ + left_ / 2 - (left_ > 1 ? 1 : 0)); }
    /// @pre !step()
    std::size_t index() const { return first_ + (left_ == 1 && begin_[first_] < head_ ? 1 : 0); }

  private:
    const std::uint64_t* begin_ = nullptr;
    std::size_t first_ = 0, left_ = 0;
    std::uint64_t head_ = 0;
  };

  std::size_t count() const { return heads_.size(); }

  /// Prefetches what search_for() reads.
  void fetch() const {
    fetch_memory(&shared_, sizeof(std::string));
    fetch_memory(reinterpret_cast<const char*>(&heads_ + 1) - 1); // the size of a static_vector is there
  }
  /// Prefetches for find(): index() is the first key not less than `key`, unless numbers are equal.
  search search_for(std::string_view key) const { return {*this, number_of(key)}; }
  /// Likewise, for the first key that is greater.
  search search_behind(std::string_view key) const {
    const auto number = number_of(key);
    return {*this, number + (starts_with(key, shared_) && number != largest ? 1 : 0)};
  }

  struct found {
    std::size_t index; ///< first key not less than the given one; count(): there is none
    bool equal;        ///< whether it equals the given one
  };
  template <class KeyAt>
  found find(std::string_view key, KeyAt&& key_at) const {
    if (!starts_with(key, shared_))
      return {key < shared_ ? 0 : count(), false};
    const auto head = head_of(key.substr(shared_.size()));
    search s(*this, head);
    while (s.step())
      ;
    auto first = s.index();
    for (auto last = end_of_equal(first, head); first < last;) {
      const auto middle = first + (last - first) / 2;
      const auto order = key_at(middle).compare(key);
      if (order == 0)
        return {middle, true};
      if (order < 0)
        first = middle + 1;
      else
        last = middle;
    }
    return {first, false};
  }

  /// The i-th key was inserted.
  template <class KeyAt>
  void inserted(std::size_t i, std::string_view key, KeyAt&& key_at) {
    PRECONDITION(i <= count());
    // A key between two others shares their prefix; only one at an end can have less in common.
    if (count() > 0 && starts_with(key, shared_))
      heads_.insert(heads_.begin() + static_cast<std::ptrdiff_t>(i), head_of(key.substr(shared_.size())));
    else
      assign(count() + 1, key_at);
  }
  /// The keys [first, last) were erased.
  void erased(std::size_t first, std::size_t last) {
    PRECONDITION(first <= last);
    PRECONDITION(last <= count());
    heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(first),
                 heads_.begin() + static_cast<std::ptrdiff_t>(last));
  }
  /// There are `count` keys now.
  template <class KeyAt>
  void assign(std::size_t count, KeyAt&& key_at) {
    shared_.clear();
    heads_.clear();
    if (count == 0)
      return;
    const std::string_view low = key_at(0), high = key_at(count - 1);
    const auto end = std::mismatch(low.begin(), low.end(), high.begin(), high.end()).first;
    shared_ = low.substr(0, static_cast<std::size_t>(end - low.begin()));
    for (std::size_t i = 0; i < count; ++i)
      heads_.push_back(head_of(std::string_view(key_at(i)).substr(shared_.size())));
  }

private:
  static constexpr auto largest = std::numeric_limits<std::uint64_t>::max();

  /// Number for any key: one without the common prefix is less, or greater, than all.
  std::uint64_t number_of(std::string_view key) const {
    if (starts_with(key, shared_))
      return head_of(key.substr(shared_.size()));
    return key < shared_ ? 0 : largest;
  }
  /// Missing bytes are zeros.
  static std::uint64_t head_of(std::string_view rest) {
    std::uint64_t head = 0;
    if (rest.size() >= sizeof head) {
      static_assert(std::endian::native == std::endian::little);
      std::memcpy(&head, rest.data(), sizeof head);
      return __builtin_bswap64(head);
    }
    for (std::size_t i = 0; i < sizeof head; ++i)
      head = head << 8 | (i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0);
    return head;
  }

  /// End of the run of equal numbers that starts at `first`.
  std::size_t end_of_equal(std::size_t first, std::uint64_t head) const {
    if (first == count() || heads_[first] != head)
      return first;
    const auto second = first + 1;
    if (second == count() || heads_[second] != head) // nearly always
      return second;
    const auto from = heads_.begin() + static_cast<std::ptrdiff_t>(second);
    return second + static_cast<std::size_t>(std::upper_bound(from, heads_.end(), head) - from);
  }

  std::string shared_;
  Numbers heads_;
};

/// Number of searches to interleave: about as many cache misses as a processor has in flight.
constexpr std::size_t searched_together = 16;

/// Runs all searches to their ends, interleaved.
template <class Search>
void search_together(std::span<Search> searches) {
  for (const auto& s : searches)
    s.fetch();
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (auto& s : searches)
      if (s.step()) {
        s.fetch();
        goes_on = true;
      }
  }
}

} // namespace belay::state
