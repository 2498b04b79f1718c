#pragma once
// An ordered table whose changes are journaled. Tables with indexes of their own wrap one.

#include "protocol/state/change_journal.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/state/row_hash.hpp"

#include <map>

namespace belay::state {

template <class Row>
class journaled_map {
  struct slot {
    Row row;
    std::uint64_t hash;
  };
  using map = std::map<std::string, slot, std::less<>>;

public:
  using const_iterator = typename map::const_iterator;

  journaled_map(change_journal& journal, table number) : journal_(journal), number_(number) {}

  /// Where a key is or would be: found once, used for reading and writing. Valid until the next change of the map.
  class place {
  public:
    const Row* row() const { return found_ ? &at_->second.row : nullptr; }

  private:
    friend journaled_map;
    typename map::iterator at_;
    bool found_ = false;
  };

  place locate(std::string_view key) {
    place p;
    p.at_ = rows_.lower_bound(key);
    p.found_ = p.at_ != rows_.end() && p.at_->first == key;
    return p;
  }

  void put(place p, std::string_view key, Row row) {
    const auto hash = row_hash(row);
    if (journal_.recording())
      journal_.remember(number_, key, p.found_ ? row_value(p.at_->second.row) : row_value());
    journal_.row_changed(number_, key, p.found_ ? p.at_->second.hash : 0, hash);
    if (p.found_)
      p.at_->second = slot{std::move(row), hash};
    else
      rows_.emplace_hint(p.at_, std::string(key), slot{std::move(row), hash});
  }
  void put(std::string_view key, Row row) { put(locate(key), key, std::move(row)); }

  /// @pre p was found
  void erase(place p) { erase_at(p.at_); }
  bool erase(std::string_view key) {
    auto p = locate(key);
    if (p.found_)
      erase_at(p.at_);
    return p.found_;
  }
  /// Calls `f(row)` for every row under the prefix, then removes them. @returns how many.
  template <class F>
  std::size_t erase_under(std::string_view prefix, F&& f) {
    std::size_t n = 0;
    for (auto at = rows_.lower_bound(prefix); at != rows_.end() && starts_with(at->first, prefix); ++n) {
      f(at->second.row);
      at = erase_at(at);
    }
    return n;
  }

  const Row* find(std::string_view key) const {
    auto at = rows_.find(key);
    return at == rows_.end() ? nullptr : &at->second.row;
  }
  const_iterator lower_bound(std::string_view key) const { return rows_.lower_bound(key); }
  const_iterator begin() const { return rows_.begin(); }
  const_iterator end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }

  template <class F>
  void for_each_under(std::string_view prefix, F&& f) const {
    for (auto at = rows_.lower_bound(prefix); at != rows_.end() && starts_with(at->first, prefix); ++at)
      f(at->second.row);
  }

  void append_rows(std::vector<dirty_row>& out) const {
    for (const auto& [key, s] : rows_)
      out.push_back({number_, key, s.row});
  }
  void append_dirty(std::vector<dirty_row>& out) const {
    for (const auto& key : journal_.dirty(number_)) {
      const auto* row = find(key);
      out.push_back({number_, key, row ? row_value(*row) : row_value()});
    }
  }
  std::uint64_t recompute_digest() const {
    std::uint64_t sum = 0;
    for (const auto& [key, s] : rows_)
      sum += row_hash(s.row);
    return sum;
  }

private:
  typename map::iterator erase_at(typename map::iterator at) {
    if (journal_.recording())
      journal_.remember(number_, at->first, at->second.row);
    journal_.row_changed(number_, at->first, at->second.hash, 0);
    return rows_.erase(at);
  }

  change_journal& journal_;
  table number_;
  map rows_;
};

} // namespace belay::state
