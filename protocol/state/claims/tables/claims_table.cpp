#include "protocol/state/claims/tables/claims_table.hpp"

#include "protocol/base/check.hpp"

namespace belay::state {

void occupancy::add(claim_mode mode, std::uint64_t n) {
  ++(mode == claim_mode::exclusive ? exclusive : shared);
  permits += n;
}

void occupancy::add(const occupancy& others) {
  exclusive += others.exclusive;
  shared += others.shared;
  permits += others.permits;
}

void occupancy::remove(claim_mode mode, std::uint64_t n) {
  auto& count = mode == claim_mode::exclusive ? exclusive : shared;
  INVARIANT(count > 0);
  INVARIANT(permits >= n);
  --count;
  permits -= n;
  INVARIANT(!empty() || permits == 0);
}

std::uint64_t claim_line::position(const claim_record& waiter) const {
  const auto at = queue.find(position_of(waiter));
  PRECONDITION(at != queue.end());
  auto front = at, back = at;
  for (std::uint64_t steps = 0;; ++steps) {
    if (front == queue.begin())
      return steps + 1;
    if (std::next(back) == queue.end())
      return queue.size() - steps;
    --front;
    ++back;
  }
}

std::uint64_t queued_bytes_of(const claim_record& c) {
  return c.value->size() + c.of.name.size() + c.id.size();
}

claim_ptr claims_table::find(const resource_name& of, std::string_view id) const {
  const auto* row = rows_.find(claim_key(of.space, of.name, id));
  return row != nullptr ? *row : nullptr;
}

const claim_line* claims_table::line(const resource_name& of) const {
  const auto at = lines_.find(resource_key(of.space, of.name));
  return at != lines_.end() ? &at->second : nullptr;
}

std::vector<claim_ptr> claims_table::of_session(std::string_view session) const {
  std::vector<claim_ptr> list;
  if (const auto at = by_session_.find(session); at != by_session_.end())
    for (const auto& key : at->second)
      list.push_back(*rows_.find(key));
  return list;
}

occupancy claims_table::own(std::string_view session, const resource_name& of) const {
  const auto at = own_.find(std::string(session) + resource_key(of.space, of.name));
  return at != own_.end() ? at->second : occupancy{};
}

claim_ptr claims_table::first_of_session(std::string_view session, const resource_name& of) const {
  claim_ptr first;
  for_each_of_session(session, of, [&](const claim_ptr& claim) {
    first = claim;
    return false;
  });
  return first;
}

claim_ptr claims_table::first_due() const {
  if (by_deadline_.empty())
    return nullptr;
  const auto* row = rows_.find(by_deadline_.begin()->second);
  INVARIANT(row != nullptr);
  INVARIANT((*row)->state == claim_state::waiting);
  INVARIANT((*row)->deadline == by_deadline_.begin()->first);
  return *row;
}

void claims_table::track(const claim_ptr& c) {
  shares_.add(*c);
  auto& line = lines_[resource_key(c->of.space, c->of.name)];
  const bool fresh = by_session_[c->session].insert(c->key).second;
  INVARIANT(fresh);
  own_[c->session + resource_key(c->of.space, c->of.name)].add(c->mode, c->permits);
  if (c->state == claim_state::held) {
    line.held.add(c->mode, c->permits);
    line.holders.emplace(c->fence, c);
    return;
  }
  const bool alone = line.queue.emplace(position_of(*c), c).second;
  INVARIANT(alone || rows_.is_loading()); // tickets differ
  if (line.queue.size() == 1)
    awaited_.insert(resource_key(c->of.space, c->of.name));
  ++waiters_;
  queued_bytes_ += queued_bytes_of(*c);
  if (!c->deadline.is_zero())
    by_deadline_.emplace(c->deadline, c->key);
}

void claims_table::untrack(const claim_ptr& c) {
  shares_.remove(*c);
  const auto session = by_session_.find(c->session);
  INVARIANT(session != by_session_.end());
  const auto forgotten = session->second.erase(c->key);
  INVARIANT(forgotten == 1);
  if (session->second.empty())
    by_session_.erase(session);
  const auto own = own_.find(c->session + resource_key(c->of.space, c->of.name));
  INVARIANT(own != own_.end());
  own->second.remove(c->mode, c->permits);
  if (own->second.empty())
    own_.erase(own);
  const auto at = lines_.find(resource_key(c->of.space, c->of.name));
  INVARIANT(at != lines_.end());
  auto& line = at->second;
  if (c->state == claim_state::held) {
    line.held.remove(c->mode, c->permits);
    line.holders.erase(c->fence);
  } else {
    line.queue.erase(position_of(*c));
    if (line.queue.empty())
      awaited_.erase(at->first);
    INVARIANT(waiters_ > 0);
    --waiters_;
    INVARIANT(queued_bytes_ >= queued_bytes_of(*c));
    queued_bytes_ -= MUTANT(queued_bytes_stay) ? 0 : queued_bytes_of(*c);
    const auto deadlines = by_deadline_.erase({c->deadline, c->key});
    INVARIANT(deadlines == (c->deadline.is_zero() ? 0U : 1U));
  }
  if (line.empty())
    lines_.erase(at);
}

void claims_table::put(claim_ptr row) {
  auto p = rows_.locate(row->key);
  if (p.row() != nullptr)
    untrack(claim_ptr(*p.row()));
  track(row);
  const std::string_view key = row->key; // stays valid: the row keeps the record alive
  rows_.put(p, key, std::move(row));
  INVARIANT(waiters_ <= rows_.size());
  INVARIANT(by_deadline_.size() <= waiters_);
  INVARIANT(awaited_.size() <= waiters_);
  INVARIANT(awaited_.size() <= lines_.size());
}

void claims_table::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (p.row() == nullptr)
    return;
  const claim_ptr old = *p.row();
  untrack(old);
  rows_.erase(p, old->key);
  INVARIANT(waiters_ <= rows_.size());
  INVARIANT(by_session_.empty() == (rows_.size() == 0));
  INVARIANT(awaited_.size() <= lines_.size());
  INVARIANT(waiters_ != 0 || queued_bytes_ == 0);
}

} // namespace belay::state
