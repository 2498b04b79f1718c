#include "sim/checkers/progress_checker.hpp"

#include "sim/record/text_rendering.hpp"

#include <algorithm>
#include <bit>

namespace belay::sim {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds progress_looked_at_every{50};
// How many elections in a row may fail, because votes are split or lost.
constexpr std::int64_t elections_max = 10;
// With the smallest limits a server gets its entries one by one.
constexpr std::uint64_t behind_max = 16;
// A client that has given up tries again sooner, unless all clients rest.
constexpr seconds trying_again{2};
// Time until broken connections are noticed, and until a leader without quorum or disk steps down.
constexpr seconds noticing{2};
// One node's disk is 8 times slower, and a write may take 100 times as long (sim/run.cpp).
constexpr std::int64_t slowest_disk = 800;
// A frame may take 200 times as long, and a write needs several frames in sequence.
constexpr std::int64_t slowest_frames = 1000;
// If more frames are lost, elections may fail for long.
constexpr std::uint32_t lost_max = 50'000;

} // namespace

progress_checker::progress_checker(schedule& time, cluster& nodes, const simulated_network& net, const swarm& s)
    : time_(time), nodes_(nodes), net_(net), bound_(bound_of(s)) {}

virtual_time progress_checker::bound_of(const swarm& s) {
  if (s.faults.clock_wild || s.network.lost_per_million > lost_max)
    return virtual_time::zero();
  const virtual_time election = s.peer.limits.tick * s.peer.limits.election_ticks;
  return elections_max * 2 * election + noticing + s.disk_latency * slowest_disk + s.network.latency * slowest_frames;
}

bool progress_checker::works(std::size_t node) const {
  auto& disk = nodes_.disk(node);
  const auto* core = nodes_.core(node);
  const auto now = time_.now();
  if (core == nullptr || !nodes_.running(node) || disk.full() || disk.stalled_until() > now ||
      (disk.hanging_write_until() > now && time_.is_busy(node, actor_kind::log)))
    return false;
  log_index committed;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (const auto* other = nodes_.core(i))
      committed = std::max(committed, other->commit_index());
  return core->last_index().value + behind_max >= committed.value;
}

bool progress_checker::reach_each_other(std::size_t a, std::size_t b) const {
  return net_.connected(a, b) && !net_.is_cut(a, b) && !net_.is_cut(b, a) && !net_.is_slowed(a, b) &&
         !net_.is_slowed(b, a);
}

bool progress_checker::is_enough(std::size_t able, std::size_t voters) const {
  return nodes_.acls_wait_for_all() ? able == voters : 2 * able > voters;
}

bool progress_checker::still_able() const {
  for (const auto a : able_)
    for (const auto b : able_)
      if (!works(a) || (a != b && !reach_each_other(a, b)))
        return false;
  const auto config = nodes_.configuration();
  if (!config)
    return false;
  const auto votes = static_cast<std::size_t>(
      std::count_if(able_.begin(), able_.end(), [&](std::size_t i) { return config->is_voter(nodes_.id_of(i)); }));
  return votes == able_.size() && is_enough(votes, config->voters.size());
}

/// Empty: there is none.
std::vector<std::size_t> progress_checker::able_majority() const {
  const auto config = nodes_.configuration();
  if (!config)
    return {};
  std::vector<std::size_t> voters;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (config->is_voter(nodes_.id_of(i)) && works(i))
      voters.push_back(i);
  std::vector<std::size_t> best;
  for (std::uint32_t set = 1; set < 1u << voters.size(); ++set) {
    if (!is_enough(static_cast<std::size_t>(std::popcount(set)), config->voters.size()))
      continue;
    std::vector<std::size_t> chosen;
    for (std::size_t k = 0; k < voters.size(); ++k)
      if ((set >> k & 1) != 0 && std::all_of(chosen.begin(), chosen.end(),
                                             [&](std::size_t other) { return reach_each_other(voters[k], other); }))
        chosen.push_back(voters[k]);
    if (chosen.size() == static_cast<std::size_t>(std::popcount(set)) && chosen.size() > best.size())
      best = std::move(chosen);
  }
  return best;
}

void progress_checker::begun(const operation& op) {
  if (op.through_agent)
    return;
  const auto* put = op.write ? std::get_if<state::kv_write>(&*op.write) : nullptr;
  if (put == nullptr || put->op.verb != state::kv_verb::set ||
      std::find(able_.begin(), able_.end(), op.node) == able_.end())
    return;
  pending_.insert(op.id);
  last_requested_ = op.invoked;
  if (!owed_since_)
    owed_since_ = op.invoked;
}

void progress_checker::ended(const operation& op) {
  pending_.erase(op.id);
  if (op.write && op.result == outcome::done)
    owed_since_.reset();
}

broken progress_checker::look() {
  const auto now = time_.now();
  if (now < next_look_)
    return std::nullopt;
  next_look_ = now + progress_looked_at_every;
  if (able_.empty() || !still_able()) {
    able_ = able_majority();
    able_since_ = now;
    owed_since_.reset();
    pending_.clear();
    return std::nullopt;
  }
  if (pending_.empty() && now - last_requested_ > trying_again)
    owed_since_.reset();
  const auto since = owed_since_ ? *owed_since_ : now;
  longest_ = std::max(longest_, now - since);
  if (bound_ == bound_.zero() || now - since <= bound_)
    return std::nullopt;
  std::string who;
  for (const auto i : able_)
    who += " n" + std::to_string(i);
  return "no write was done since one was requested at " + in_seconds(since) + ", although" + who +
         " have been able to elect a leader since " + in_seconds(able_since_) + ", and " + in_seconds(bound_) +
         " are enough for it";
}

} // namespace belay::sim
