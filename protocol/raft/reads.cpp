// Read rounds (dissertation 6.4) and the lease (6.4.1).

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

bool core::impl::read(std::uint64_t id) {
  if (soft.role != role::leader)
    return false;
  reads_waiting.push_back(id);
  return true;
}

void core::impl::start_rounds() {
  const auto in_flight = static_cast<std::size_t>(
      std::count_if(rounds.begin(), rounds.end(), [](const read_round& r) { return !r.reads.empty(); }));
  // Before the no-op is committed the commit index may be older than what an earlier leader has answered with (R10).
  const bool reads_may_go =
      !reads_waiting.empty() && (may_serve_reads() || MUTANT(read_before_noop)) && in_flight < lim.read_rounds_max;
  if (!reads_waiting.empty() && !may_serve_reads())
    PROBE("raft: read waits for the term's first commit");
  if (!reads_may_go && !heartbeat_due)
    return;
  heartbeat_due = false;
  read_round r{++round, now, commit, {}};
  if (reads_may_go)
    r.reads = std::exchange(reads_waiting, {});
  rounds.push_back(std::move(r));
}

void core::impl::confirm_rounds() {
  if (rounds.empty())
    return;
  const auto reached = quorum_value(config(), [&](node_id id) -> std::uint64_t {
    if (id == self || MUTANT(read_round_not_confirmed))
      return round;
    auto it = followers.find(id);
    return it == followers.end() ? 0 : it->second.round_acked;
  });
  while (!rounds.empty() && rounds.front().number <= reached) {
    auto& r = rounds.front();
    const auto from = MUTANT(lease_from_reply_time) ? now : r.sent;
    lease_base = std::max(from, lease_base.value_or(from));
    for (auto id : r.reads)
      out.reads_confirmed.push_back({id, r.index});
    rounds.pop_front();
  }
}

void core::impl::fail_reads() {
  auto& failed = out.reads_failed;
  if (!rounds.empty() || !reads_waiting.empty())
    PROBE("raft: read round failed");
  for (const auto& r : rounds)
    failed.insert(failed.end(), r.reads.begin(), r.reads.end());
  failed.insert(failed.end(), reads_waiting.begin(), reads_waiting.end());
  rounds.clear();
  reads_waiting.clear();
}

local_time core::impl::lease_until() const {
  // A server that is left as the only voter asks nobody, so whoever removes itself gives up its lease when it says so.
  if (!config().is_voter(self))
    return local_time{0};
  const bool given_up = !transfer_to.is_zero() || retiring || lease_forfeited;
  if (!may_serve_reads() || (given_up && !MUTANT(lease_kept_in_transfer)) || !lease_base)
    return local_time{0};
  const double share = std::max(0.0, 1.0 - 2.0 * lim.clock_rate_error);
  const std::chrono::nanoseconds election_time = lim.tick * lim.election_ticks;
  return *lease_base +
         std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(election_time.count()) * share));
}

} // namespace belay::raft
