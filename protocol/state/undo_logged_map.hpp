#pragma once
// An ordered table whose changes are in an undo log. Tables with indexes of their own wrap one.

#include "protocol/base/check.hpp"
#include "protocol/base/fetch_memory.hpp"
#include "protocol/state/maps/chunked_map.hpp"
#include "protocol/state/maps/kept_beside.hpp"
#include "protocol/state/row_hash.hpp"
#include "protocol/state/undo_log.hpp"

namespace belay::state {

/// The index that newest_under() compares; zero for rows that are never queried like that.
template <class Row>
log_index row_index(const Row&) {
  return {};
}
inline log_index row_index(const kv_entry_ptr& row) {
  return row.modify_index();
}
inline log_index row_index(const tombstone& row) {
  return row.index;
}

template <class Row>
class undo_logged_map {
  struct held {
    Row row;
    std::uint64_t stored_hash;
    undo_log::bookmark bookmark;
    log_index index() const { return row_index(row); }
    std::uint64_t hash() const { return stored_hash; }
    std::string_view key() const requires std::is_same_v<Row, kv_entry_ptr> { return row.key(); }
  };
  using map = chunked_map<held>;

public:
  using fragment = typename map::fragment;
  using view = typename map::view;

  undo_logged_map(undo_log& log, table number) : log_(log), number_(number) {}

  /// Position of a key, to read and then write. Valid until the next change of the map.
  class location {
  public:
    const Row* row() const { return row_; }

  private:
    friend undo_logged_map;
    typename map::location at_;
    const Row* row_ = nullptr;
  };

  location locate(std::string_view key) {
    location p;
    p.at_ = rows_.locate(key);
    if (p.at_.found)
      p.row_ = &rows_.value(p.at_).row;
    return p;
  }

  void put(const location& p, std::string_view key, Row row) {
    const auto hash = row_hash(row);
    if (log_.recording())
      log_.remember(number_, key, p.row_ ? row_value(*p.row_) : row_value());
    auto bookmark = p.row_ ? rows_.value(p.at_).bookmark : log_.bookmark_of_new(number_, key);
    log_.row_changed(number_, key, bookmark, row, p.row_ ? rows_.value(p.at_).hash() : 0, hash);
    rows_.put(p.at_, key, held{std::move(row), hash, bookmark});
  }
  void put(std::string_view key, Row row) {
    if (!append_loaded(key, row))
      put(locate(key), key, std::move(row));
  }
  /// Appends a row of a checkpoint; these come in ascending order and need no undo.
  /// @returns false, without effect, unless a checkpoint is being loaded and `key` is the largest.
  bool append_loaded(std::string_view key, const Row& row) {
    if (!log_.is_loading())
      return false;
    if (!rows_.is_behind_all(key))
      return false;
    const auto hash = row_hash(row);
    log_.row_loaded(hash);
    rows_.append(key, held{row, hash, {}});
    return true;
  }

  /// @pre p was found; `key` is its key.
  void erase(const location& p, std::string_view key) {
    PRECONDITION(p.row_ != nullptr);
    gone(key, rows_.value(p.at_));
    rows_.erase(p.at_);
  }
  void erase(std::string_view key) {
    if (auto p = locate(key); p.row_)
      erase(p, key);
  }
  /// Calls `f(row)` for every row under the prefix, then removes them. @returns their number.
  template <class F>
  std::size_t erase_under(std::string_view prefix, F&& f) {
    const auto rows = rows_.cut_under(prefix);
    rows.for_each([&](const auto& slot) {
      f(slot.value.row);
      gone(slot.key(), slot.value);
    });
    return rows.size();
  }

  /// Hides all rows under the prefix. note_gone() must follow for each before take_dirty().
  fragment cut_under(std::string_view prefix) {
    auto rows = rows_.cut_under(prefix);
    log_.rows_cut(rows.hashes());
    return rows;
  }
  void note_gone(std::string_view key, const held& old) {
    auto bookmark = old.bookmark;
    log_.note_row(number_, key, bookmark, row_value());
  }
  /// Undoes cut_under(). @pre no row is under the prefix; note_gone() was called for none of these
  void put_back(std::string_view prefix, fragment rows) {
    log_.rows_put_back(rows.hashes());
    rows_.put_back(prefix, std::move(rows));
  }

  const Row* find(std::string_view key) const {
    const auto* found = rows_.find(key);
    return found ? &found->row : nullptr;
  }
  /// Prefetches what locate() and put() read for these keys. Changes nothing.
  void fetch(std::span<const std::string_view> keys) const requires requires(const Row& r) { fetch_shared(r); }
  {
    rows_.fetch(keys, [](const held& h) { fetch_shared(h.row); });
  }
  auto lower_bound(std::string_view key) const { return rows_.lower_bound(key); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }
  view view_of(std::string_view prefix) const { return rows_.view_of(prefix); }
  std::size_t about_under(std::string_view prefix, std::size_t enough) const {
    return rows_.about_under(prefix, enough);
  }
  /// Largest row_index() under the prefix; zero: none.
  log_index newest_under(std::string_view prefix) const { return rows_.newest_under(prefix); }

  template <class F>
  void for_each_under(std::string_view prefix, F&& f) const {
    for (auto at = rows_.lower_bound(prefix); at != rows_.end() && starts_with(at->key(), prefix); ++at)
      f(at->value.row);
  }

  void append_rows(std::vector<dirty_row>& out) const {
    for (const auto& slot : rows_)
      out.push_back({number_, std::string(slot.key()), slot.value.row});
  }
  std::uint64_t recompute_digest() const {
    std::uint64_t sum = 0;
    for (const auto& slot : rows_)
      sum += row_hash(slot.value.row);
    return sum;
  }

  table number() const { return number_; }
  /// Whether rows of a checkpoint or archive are being loaded, which may be anything.
  bool is_loading() const { return log_.is_loading(); }

  /// Recomputes the hashes of the rows and the map's derived data.
  /// @returns what differs; nullopt: nothing
  std::optional<std::string> recount() const {
    for (const auto& slot : rows_)
      if (slot.value.hash() != row_hash(slot.value.row))
        return "the hash of row " + std::string(slot.key());
    return rows_.recount();
  }

private:
  void gone(std::string_view key, const held& old) {
    if (log_.recording())
      log_.remember(number_, key, old.row);
    auto bookmark = old.bookmark;
    log_.row_changed(number_, key, bookmark, row_value(), old.hash(), 0);
  }

  undo_log& log_;
  table number_;
  map rows_;
};

/// The row, if rows are pointers; null if there is none.
template <class Row>
Row row_or_null(const undo_logged_map<Row>& rows, std::string_view key) {
  const auto* row = rows.find(key);
  return row != nullptr ? *row : nullptr;
}

} // namespace belay::state
