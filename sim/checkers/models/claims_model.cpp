#include "sim/checkers/models/claims_model.hpp"

#include <algorithm>
#include <set>

namespace belay::sim {

std::vector<const modelled_claim*> modelled_resource::queue() const {
  std::vector<const modelled_claim*> found;
  for (const auto& [id, c] : claims)
    if (!c.held)
      found.push_back(&c);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->ticket < b->ticket;
  });
  return found;
}

std::vector<const modelled_claim*> modelled_resource::holders() const {
  std::vector<const modelled_claim*> found;
  for (const auto& [id, c] : claims)
    if (c.held)
      found.push_back(&c);
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->fence < b->fence; });
  return found;
}

bool modelled_resource::fits(const modelled_claim& wanted) const {
  using kinds = state::claim_kind;
  std::uint64_t taken = 0;
  bool somebody = false, exclusive = false;
  const auto count = [&](bool shared, std::uint64_t permits) {
    taken += permits;
    somebody = true;
    exclusive = exclusive || !shared;
  };
  for (const auto& [id, c] : claims)
    if (c.held)
      count(c.shared, c.permits);
  for (const auto& [fence, g] : ghosts)
    count(g.shared, g.permits);
  if (kind == kinds::semaphore)
    return taken + wanted.permits <= limit;
  return kind == kinds::rw && wanted.shared ? !exclusive : !somebody;
}

bool modelled_resource::conflict(const modelled_claim& waiter, const modelled_claim& holder) const {
  return kind != state::claim_kind::rw || !waiter.shared || !holder.shared;
}

const modelled_resource* claims_state::find(const state::resource_name& of) const {
  const auto it = resources.find(of);
  return it == resources.end() ? nullptr : &it->second;
}

const modelled_claim* claims_state::find(const state::resource_name& of, const std::string& id) const {
  const auto* r = find(of);
  if (r == nullptr)
    return nullptr;
  const auto it = r->claims.find(id);
  return it == r->claims.end() ? nullptr : &it->second;
}

state::claim_answer claims_state::standing(const state::resource_name& of, const modelled_claim& c,
                                           const std::string& holder) const {
  constexpr std::size_t shown_max = 10; // rule 9
  state::claim_answer a;
  a.of = of;
  a.id = c.id;
  a.session = c.session;
  a.index = c.changed;
  if (c.held) {
    a.state = state::claim_state::held;
    a.fence = c.fence;
    return a;
  }
  if (!holder.empty())
    a.ahead.push_back({holder, holder, state::claim_state::held});
  const auto& r = *find(of);
  for (const auto* h : r.holders())
    a.ahead.push_back({h->id, h->session, state::claim_state::held});
  for (const auto* w : r.queue()) {
    ++a.position;
    if (w == &c)
      break;
    a.ahead.push_back({w->id, w->session, state::claim_state::waiting});
  }
  if (a.ahead.size() > shown_max)
    a.ahead.resize(shown_max);
  return a;
}

bool circle_search::closes() const {
  using position = std::pair<std::string, bool>; // and whether a claim on the path said `refuse`
  std::set<position> seen;
  std::vector<position> left{{session, !refusers_only || starts_refusing}};
  while (!left.empty()) {
    const auto at = left.back();
    left.pop_back();
    if (!seen.insert(at).second)
      continue;
    for (const auto& [of, r] : now.resources) {
      const auto line = r.queue();
      for (std::size_t i = 0; i < line.size(); ++i) {
        const auto& waiter = *line[i];
        if (waiter.session != at.first || &waiter == granted)
          continue;
        const bool refuses = at.second || waiter.refuses_deadlock;
        std::vector<std::string> before;
        if (of.space == state::claim_space::keys)
          before.push_back(holder_of_key(of.name));
        for (const auto* h : r.holders())
          if (r.conflict(waiter, *h))
            before.push_back(h->session);
        for (std::size_t k = 0; k < i; ++k)
          before.push_back(line[k]->session);
        for (auto& next : before) {
          if (next.empty() || next == at.first)
            continue;
          if (next == session && refuses)
            return true;
          if (next != session)
            left.emplace_back(std::move(next), refuses);
        }
      }
    }
  }
  return false;
}

// ---- ends

const ended_claims::end* ended_claims::newest(const std::vector<version>& past, log_index s) {
  const auto later =
      std::upper_bound(past.begin(), past.end(), s, [](log_index i, const version& v) { return i < v.at; });
  return later == past.begin() || !std::prev(later)->what ? nullptr : &*std::prev(later)->what;
}

const ended_claims::end* ended_claims::find(const name& which) const {
  return find_at(which, log_index{UINT64_MAX});
}

const ended_claims::end* ended_claims::find_at(const name& which, log_index s) const {
  const auto it = all_.find(which);
  return it == all_.end() ? nullptr : newest(it->second, s);
}

void ended_claims::forget(const name& which, log_index at) {
  if (find(which) != nullptr)
    all_[which].push_back({at, std::nullopt});
}

void ended_claims::forget_those_over(cluster_time now, log_index at) {
  if (now.value < remembered_ms)
    return;
  for (auto& [which, past] : all_)
    if (past.back().what && past.back().what->until <= now)
      past.push_back({at, std::nullopt});
}

std::size_t ended_claims::count(log_index s) const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [s](const auto& each) { return newest(each.second, s) != nullptr; }));
}

void ended_claims::go_back(log_index archive, log_index at, cluster_time now) {
  for (auto& [which, past] : all_) {
    const auto* then = newest(past, archive);
    if (past.back().what || then == nullptr || then->until <= now)
      continue;
    auto again = *then;
    again.until.value = std::min(again.until.value, now.value + remembered_ms);
    past.push_back({at, std::move(again)});
  }
}

} // namespace belay::sim
