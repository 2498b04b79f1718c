#include "protocol/state/claims/tables/end_shares.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::state {

std::uint64_t end_shares::count_of(std::string_view scope) const {
  const auto at = by_scope_.find(scope);
  return at == by_scope_.end() ? 0 : at->second;
}

bool end_shares::is_full(std::string_view scope, std::uint64_t bytes, bool own_id) const {
  const auto then = bytes_ + bytes;
  if (then > limits_.bytes_max && !MUTANT(claim_ends_of_clients_without_bound)) {
    PROBE("claims: no end of a claim fits any more");
    return true;
  }
  if (then <= limits_.bytes_max / 2 || !own_id)
    return false;
  const auto own = count_of(scope);
  const auto most = sizes_.empty() ? 0 : sizes_.rbegin()->first;
  const bool full = own >= limits_.share && (own >= most || MUTANT(claim_ends_refused_to_all));
  if (full)
    PROBE("claims: the scope with most ends is refused");
  return full;
}

void end_shares::move(std::uint64_t from, std::uint64_t to) {
  const auto at = sizes_.find(from);
  INVARIANT(from == 0 || at != sizes_.end());
  if (at != sizes_.end() && --at->second == 0)
    sizes_.erase(at);
  if (to != 0)
    ++sizes_[to];
}

void end_shares::add(const std::string& scope, std::uint64_t bytes) {
  auto& n = by_scope_[scope];
  move(n, n + 1);
  ++n;
  bytes_ += bytes;
  INVARIANT(sizes_.size() <= by_scope_.size());
}

void end_shares::remove(const std::string& scope, std::uint64_t bytes) {
  const auto at = by_scope_.find(scope);
  INVARIANT(at != by_scope_.end());
  INVARIANT(bytes_ >= bytes);
  move(at->second, at->second - 1);
  if (--at->second == 0)
    by_scope_.erase(at);
  bytes_ -= bytes;
  INVARIANT(sizes_.empty() == by_scope_.empty());
  INVARIANT(!by_scope_.empty() || bytes_ == 0); // else the space of claims shrinks until a restart
}

} // namespace belay::state
