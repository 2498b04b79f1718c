#include "protocol/state/claims/tables/ended_sessions.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

namespace belay::state {

ended_session_ptr ended_sessions::find(std::string_view id) const {
  const auto* row = rows_.find(id);
  return row != nullptr ? *row : nullptr;
}

void ended_sessions::add(ended_session row) {
  const auto number = by_number_.empty() ? 1 : by_number_.rbegin()->first + 1;
  row.number = number;
  put(std::make_shared<const ended_session>(std::move(row)));
  INVARIANT(by_number_.rbegin()->first == number); // it is forgotten last
  while (rows_.size() > ended_sessions_max && !MUTANT(ended_sessions_without_bound))
    erase(std::string(by_number_.begin()->second));
}

void ended_sessions::put(ended_session_ptr row) {
  erase(row->id);
  by_number_.emplace(row->number, row->id);
  const std::string_view id = row->id; // stays valid: the row keeps the record alive
  rows_.put(id, std::move(row));
  INVARIANT(by_number_.size() <= rows_.size());
}

void ended_sessions::erase(std::string_view id) {
  auto p = rows_.locate(id);
  if (p.row() == nullptr)
    return;
  const ended_session_ptr old = *p.row();
  by_number_.erase(old->number);
  rows_.erase(p, old->id);
  INVARIANT(by_number_.size() <= rows_.size()); // else add() finds a number without a row for ever
}

} // namespace belay::state
