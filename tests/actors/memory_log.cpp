#include "tests/actors/memory_log.hpp"

#include <algorithm>

namespace belay::actors::testing {

status memory_log::append(const std::vector<raft::persist_batch>& batches) {
  if (full_) {
    ++refused_;
    return failure{"no space left on the simulated disk", failure_kind::no_space};
  }
  auto& entries = kept_.entries;
  for (const auto& b : batches) {
    if (b.hard)
      kept_.hard = *b.hard;
    if (b.restart_after) {
      entries.clear();
      kept_.begins = kept_.next = b.restart_after->index.next();
    }
    if (b.truncate_from) {
      std::erase_if(entries, [&](const raft::entry& e) { return e.index >= *b.truncate_from; });
      kept_.next = *b.truncate_from;
    }
    for (const auto& e : b.entries) {
      if (!entries.empty() && e.index != entries.back().index.next())
        return failure{"gap before entry " + to_string(e.index)};
      entries.push_back(e);
      kept_.next = e.index.next();
    }
  }
  return done{};
}

result<bool> memory_log::compact(log_index first_kept, std::size_t) {
  std::erase_if(kept_.entries, [&](const raft::entry& e) { return e.index < first_kept; });
  kept_.begins = std::max(kept_.begins, first_kept);
  return false;
}

} // namespace belay::actors::testing
