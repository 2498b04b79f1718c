#include "sim/checkers/agents/least_index.hpp"

#include <algorithm>

namespace belay::sim {

void least_index::note(virtual_time now, log_index is) {
  if (values_.empty() || values_.back().is != is)
    values_.push_back({now, is});
  while (values_.size() > 1 && values_[1].from <= now - kept_)
    values_.pop_front();
}

log_index least_index::since(virtual_time then) const {
  if (values_.empty() || values_.front().from > then)
    return {};
  log_index least = values_.back().is;
  for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
    least = std::min(least, it->is);
    if (it->from <= then) // in force then
      break;
  }
  return least;
}

} // namespace belay::sim
