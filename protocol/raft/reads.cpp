// Read rounds (dissertation 6.4) and the lease (6.4.1).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

bool core::impl::read(std::uint64_t id) {
  if (!leading)
    return false;
  leading->reads_waiting.push_back(id);
  return true;
}

void core::impl::start_rounds() {
  auto& l = *leading;
  const auto in_flight = static_cast<std::size_t>(
      std::count_if(l.rounds.begin(), l.rounds.end(), [](const read_round& r) { return !r.reads.empty(); }));
  // Before the no-op commits, the commit index may be older than
  // what an earlier leader returned (docs/internals/pitfalls.md R10).
  const bool reads_may_go =
      !l.reads_waiting.empty() && (may_serve_reads() || MUTANT(read_before_noop)) && in_flight < lim.read_rounds_max;
  if (!l.reads_waiting.empty() && !may_serve_reads())
    PROBE("raft: read waits for the term's first commit");
  if (!reads_may_go && !l.heartbeat_due)
    return;
  l.heartbeat_due = false;
  read_round r{++l.round, now, commit, {}};
  if (reads_may_go)
    r.reads = std::exchange(l.reads_waiting, {});
  l.rounds.push_back(std::move(r));
}

void core::impl::confirm_rounds() {
  auto& l = *leading;
  if (l.rounds.empty())
    return;
  const auto reached = quorum_value(config(), [&](node_id id) -> std::uint64_t {
    if (id == self || MUTANT(read_round_not_confirmed))
      return l.round;
    const auto* p = l.find(id);
    return p == nullptr ? 0 : p->round_acked;
  });
  INVARIANT(reached <= l.round);
  while (!l.rounds.empty() && l.rounds.front().number <= reached) {
    auto& r = l.rounds.front();
    // A read sees at least the first entry of this term (docs/internals/pitfalls.md R10).
    INVARIANT(r.reads.empty() || r.index >= l.term_start);
    INVARIANT(r.index <= commit);
    INVARIANT(r.sent <= now);
    const auto from = MUTANT(lease_from_reply_time) ? now : r.sent;
    l.lease_base = std::max(from, l.lease_base.value_or(from));
    for (auto id : r.reads)
      out.reads_confirmed.push_back({id, r.index});
    l.rounds.pop_front();
  }
}

void core::impl::fail_reads() {
  const auto& l = *leading;
  auto& failed = out.reads_failed;
  if (!l.rounds.empty() || !l.reads_waiting.empty())
    PROBE("raft: read round failed");
  for (const auto& r : l.rounds)
    failed.insert(failed.end(), r.reads.begin(), r.reads.end());
  failed.insert(failed.end(), l.reads_waiting.begin(), l.reads_waiting.end());
}

local_time core::impl::lease_until() const {
  // A server that remains as the only voter leads without asking others. So a leader
  // that removes itself has no lease from the moment it appends that configuration.
  if (!config().is_voter(self) || !may_serve_reads())
    return local_time{0};
  const bool given_up = leading->handing_over() || leading->lease_forfeited || leading->lease_withdrawn_until;
  return given_up && !MUTANT(lease_kept_in_transfer) ? local_time{0} : lease_end();
}

/// When a lease of this term, reported to any reader, ends. Zero: there was none.
local_time core::impl::lease_end() const {
  if (!leading->lease_base)
    return local_time{0};
  const double share = std::max(0.0, 1.0 - 2.0 * lim.clock_rate_error);
  const std::chrono::nanoseconds election_time = lim.tick * lim.election_ticks;
  return *leading->lease_base +
         std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(election_time.count()) * share));
}

} // namespace belay::raft
