#pragma once
// The tables of operators' settings (settings.hpp); code shared by their commands and queries.

#include "protocol/state/undo_logged_map.hpp"

namespace belay::state {

/// The single row of its table, if it was set.
template <operator_settings Settings>
class settings_table {
public:
  explicit settings_table(undo_log& log) : rows_(log, Settings::in) {}

  /// Never null: the initial values until they are set.
  settings_ptr<Settings> now() const {
    const auto* row = rows_.find(Settings::row_key);
    return row != nullptr ? *row : std::make_shared<const Settings>();
  }
  log_index modify_index() const {
    const auto* row = rows_.find(Settings::row_key);
    return row != nullptr ? (*row)->modify_index : Settings().modify_index;
  }
  /// @returns false: they are not the ones that the caller has seen
  bool set(const settings_set<Settings>& c, log_index index) {
    const auto before = now();
    if (c.check && *c.check != before->modify_index)
      return false;
    auto next = std::make_shared<Settings>(c.wanted);
    next->create_index = before->create_index;
    next->modify_index = index;
    put(std::move(next));
    return true;
  }

  void put(settings_ptr<Settings> row) { rows_.put(Settings::row_key, std::move(row)); }
  void erase() { rows_.erase(Settings::row_key); }
  const undo_logged_map<settings_ptr<Settings>>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  auto beside() const { return std::tuple{}; }

private:
  undo_logged_map<settings_ptr<Settings>> rows_;
};

template <class List>
class settings_tables_of;

template <class... Settings>
class settings_tables_of<settings_list<Settings...>> : private settings_table<Settings>... {
public:
  explicit settings_tables_of(undo_log& log) : settings_table<Settings>(log)... {}

  template <operator_settings One>
  settings_table<One>& of() {
    return *this;
  }
  template <operator_settings One>
  const settings_table<One>& of() const {
    return *this;
  }

  /// Sets or removes a row; rows of other tables are ignored.
  void restore(dirty_row& row) { (restore_one<Settings>(row), ...); }
  auto maps() const { return std::tuple_cat(of<Settings>().maps()...); }
  auto beside() const { return std::tuple{}; }

private:
  template <operator_settings One>
  void restore_one(dirty_row& row) {
    if (row.table != One::in)
      return;
    if (auto* there = std::get_if<settings_ptr<One>>(&row.row))
      of<One>().put(std::move(*there));
    else
      of<One>().erase();
  }
};
using settings_tables = settings_tables_of<all_settings>;

} // namespace belay::state
