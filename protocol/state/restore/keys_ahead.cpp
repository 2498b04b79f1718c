#include "protocol/state/restore/keys_ahead.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>

namespace belay::state {

restored_rows::restored_rows() {
  fresh->log.limit_keys(0); // followers of the change feed start over
  fresh->log.loading(true); // the next checkpoint has all rows
}

void restored_rows::take(const dirty_row& row) {
  const auto* key = std::get_if<kv_entry_ptr>(&row.row);
  if (key == nullptr) {
    others.push_back(row);
    return;
  }
  const auto entry = **key;
  newest = std::max({newest, entry.create_index, entry.modify_index});
  if (!entry.session.empty() || entry.fence != 0)
    locked.emplace(entry.key);
  fresh->kv.put(*key);
}

void keys_ahead::add(std::uint64_t number, const row_batch& rows) {
  if (number != parts_) // a duplicate, or an earlier part was missed
    return;
  ++parts_;
  for (const auto& row : *rows)
    rows_.take(row);
}

bool keys_ahead::fits(const restore_head& head, log_index index) const {
  INVARIANT(head.id != id_ || parts_ <= head.batches); // each part was staged first
  return head.id == id_ && head.batches == parts_ && (rows_.newest <= index || MUTANT(keys_ahead_above_index));
}

} // namespace belay::state
