#include "actors/gateway/requests/pending_requests.hpp"

#include <utility>

namespace belay::actors {

exchange* pending_requests::settle(request_id id) {
  const auto it = requested_.find(id);
  if (it == requested_.end())
    return nullptr;
  auto* e = it->second;
  requested_.erase(it);
  load_ -= e->load;
  if (touched_.empty() || touched_.back().get() != e->from)
    touched_.push_back(e->from->shared_from_this());
  return e;
}

bool pending_requests::forget(const exchange& e) {
  if (requested_.erase(e.id) == 0)
    return false;
  load_ -= e.load;
  return true;
}

void pending_requests::progress() {
  // A connection that goes on may settle requests of others (streams that end), which are added.
  while (!touched_.empty()) {
    auto going_on = std::exchange(touched_, std::move(unused_));
    for (const auto& r : going_on)
      r->progress();
    going_on.clear();
    unused_ = std::move(going_on);
  }
}

} // namespace belay::actors
