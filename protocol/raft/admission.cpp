// Which servers are added to an existing cluster, and how members get a new name or address.

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/raft/formation.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

// A learner becomes a voter when it is at most this far behind: the rest fits into a few appends.
constexpr std::uint64_t promotion_lag_max = 1000;
// Limit of operators' approvals for servers that have not connected yet.
constexpr std::size_t admitted_max = 64;

bool lower_id(const member& a, const member& b) {
  return a.id < b.id;
}

void add_sorted(std::vector<node_id>& ids, node_id id) {
  ids.insert(std::upper_bound(ids.begin(), ids.end(), id), id);
}

bool same_endpoint(const member& a, const member& b) {
  return a.address == b.address || a.name == b.name || a.uuid == b.uuid;
}

bool close_to(const core& leader, node_id learner) {
  const auto all = leader.progress();
  return std::any_of(all.begin(), all.end(), [&](const progress_view& p) {
    // In a short log even an empty learner is close: it must also have confirmed an entry.
    return p.id == learner && p.state == follower_state::replicate && !p.match.is_zero() &&
           p.match.value + promotion_lag_max >= leader.last_index().value;
  });
}

bool would_replace(const member& joining_member, const member& other) {
  return other.id != joining_member.id && same_endpoint(other, joining_member);
}

bool learns(const configuration& now, node_id id) {
  return std::binary_search(now.learners.begin(), now.learners.end(), id);
}

/// Adds it as a learner. Replaces a lost learner at once, a voter only when it gets its vote.
configuration with_learner(configuration now, const member& joining_member) {
  PRECONDITION(!now.contains(joining_member.id));
  for (const auto& m : configuration(now).members)
    if (learns(now, m.id) && would_replace(joining_member, m))
      now = without(std::move(now), m.id);
  now.members.insert(std::upper_bound(now.members.begin(), now.members.end(), joining_member, lower_id),
                     joining_member);
  add_sorted(now.learners, joining_member.id);
  INVARIANT(well_formed(now));
  return now;
}

/// Makes it a voter, in place of the members that it replaces.
configuration with_voter(configuration now, const member& learner, node_id self) {
  PRECONDITION(learns(now, learner.id));
  for (const auto& m : configuration(now).members)
    if (m.id != self && would_replace(learner, m))
      now = without(std::move(now), m.id);
  std::erase(now.learners, learner.id);
  add_sorted(now.voters, learner.id);
  INVARIANT(well_formed(now));
  return now;
}

/// Removes the voter's vote; as a learner it still receives the log.
configuration with_replica(configuration now, node_id voter) {
  PRECONDITION(now.voters.size() > 1);
  PRECONDITION(std::binary_search(now.voters.begin(), now.voters.end(), voter));
  std::erase(now.voters, voter);
  add_sorted(now.learners, voter);
  return now;
}

/// Updates that member's data to what it reports; nullopt: up to date, or the new name is in use.
std::optional<configuration> with_news_of(const configuration& now, const member& m) {
  const auto* known = now.find(m.id);
  if (known == nullptr || *known == m)
    return std::nullopt;
  const bool taken = std::any_of(now.members.begin(), now.members.end(),
                                 [&](const member& other) { return other.id != m.id && other.name == m.name; });
  if (taken)
    return std::nullopt;
  auto next = now;
  *std::find_if(next.members.begin(), next.members.end(), [&](const member& x) { return x.id == m.id; }) = m;
  return next;
}

} // namespace

const member* formation::rival_of(const member& joining_member, const configuration& now) const {
  for (const auto& m : now.members)
    if (would_replace(joining_member, m) && (m.id == self_.id || peers_.contains(m.id)))
      return &m;
  return nullptr;
}

void formation::admit(std::string address_or_uuid) {
  std::erase(admitted_, address_or_uuid);
  if (admitted_.size() == admitted_max)
    admitted_.erase(admitted_.begin());
  admitted_.push_back(std::move(address_or_uuid));
}

void formation::forget_admissions(const configuration& now) {
  std::erase_if(admitted_, [&](const std::string& named) {
    return std::any_of(now.members.begin(), now.members.end(), [&](const member& m) {
      return (named == m.address || named == m.uuid) && (m.id == self_.id || peers_.contains(m.id));
    });
  });
}

bool formation::trusts(const handshake& p) const {
  return settings_.admit_newcomers || p.proven;
}

bool formation::is_wanted(const member& joining_member) const {
  return std::any_of(admitted_.begin(), admitted_.end(), [&](const std::string& named) {
    return named == joining_member.address || named == joining_member.uuid;
  });
}

bool formation::admits(const handshake& joining_member, const configuration& now) const {
  if (now.contains(joining_member.self.id) || is_wanted(joining_member.self))
    return true;
  if (was_let_go(joining_member.self.id))
    return false;
  if (trusts(joining_member))
    return true;
  // It replaces a lost member: rival_of() ensures that no connected one has that name and address.
  bool replaces = false;
  for (const auto& m : now.members)
    if (would_replace(joining_member.self, m)) {
      if (m.name != joining_member.self.name || m.address != joining_member.self.address)
        return false;                            // it would replace another member, too
      replaces = replaces || now.is_voter(m.id); // replacing a replica could add a voter
    }
  return replaces;
}

/// A restarting server is not lost yet. Otherwise the first server to connect would replace it.
bool formation::all_lost_before(const member& joining_member, const core& leader) const {
  const auto all = leader.progress();
  return std::none_of(all.begin(), all.end(), [&](const progress_view& p) {
    const auto* m = leader.config().find(p.id);
    return m != nullptr && would_replace(joining_member, *m) && p.silent_ticks < settings_.lost_ticks;
  });
}

/// A learner to remove: the member that it should replace is back, or it reports other data than
/// when it was added. With a vote it would replace no member, but add a voter.
std::optional<configuration> formation::without_idle_learner(const configuration& now) const {
  for (const auto id : now.learners) {
    const auto& learner = *now.find(id);
    const auto* sent = belongs(id) ? find(id) : nullptr;
    if (settings_.admit_newcomers || (sent != nullptr && sent->proven))
      continue;
    if (rival_of(learner, now) != nullptr || (sent != nullptr && sent->self != learner)) {
      PROBE("admission: learner dropped");
      return without(now, id);
    }
  }
  return std::nullopt;
}

std::optional<configuration> formation::next_configuration(const core& leader, const autopilot* autopilot) const {
  const auto& now = leader.config();
  if (!leader.is_leader() || !leader.may_serve_reads() || now.joint())
    return std::nullopt;
  // First: a member that returns with a new name or address must still be found by the old one.
  if (auto next = without_idle_learner(now))
    return next;
  if (auto next = with_news_of(now, self_))
    return next;
  for (const auto& [id, p] : peers_) {
    if (!belongs(id))
      continue;
    if (auto next = with_news_of(now, p.self))
      return next;
    if (rival_of(p.self, now) != nullptr || !admits(p, now))
      continue;
    if (!now.contains(id)) {
      if (trusts(p) || is_wanted(p.self) || all_lost_before(p.self, leader))
        return with_learner(now, p.self);
    } else if (learns(now, id)) {
      const bool needs_vote = !p.replica || MUTANT(replica_promoted);
      if (needs_vote && close_to(leader, id) && (autopilot == nullptr || autopilot->may_vote(id)))
        return with_voter(now, p.self, self_.id);
    }
  }
  return std::nullopt;
}

// ---- replicas and dead servers

std::optional<configuration> formation::without_dead(const core& leader, const autopilot& autopilot) const {
  const auto& now = leader.config();
  if (!leader.is_leader() || !leader.may_serve_reads() || now.joint())
    return std::nullopt;
  std::set<node_id> dead;
  for (const auto& p : leader.progress())
    if (now.contains(p.id) && !peers_.contains(p.id) && p.silent_ticks >= settings_.lost_ticks)
      dead.insert(p.id);
  if (dead.empty())
    return std::nullopt;
  // Removed servers rejoin by themselves only if all may join, or all here have credentials.
  const bool come_back = settings_.admit_newcomers ||
                         (!peers_.empty() && std::all_of(now.members.begin(), now.members.end(), [&](const member& m) {
                           const auto* sent = find(m.id);
                           return sent == nullptr || sent->proven;
                         }));
  return come_back ? autopilot.without_dead(now, dead) : std::nullopt;
}

std::optional<configuration> formation::next_demotion(const core& leader, const autopilot& autopilot) const {
  const auto& now = leader.config();
  if (!leader.is_leader() || !leader.may_serve_reads() || now.joint() || !autopilot.enough(now.voters.size() - 1))
    return std::nullopt;
  for (const auto& [id, p] : peers_)
    if (p.replica && belongs(id) && now.is_voter(id) && rival_of(p.self, now) == nullptr) {
      auto next = with_replica(now, id);
      // With two remaining voters both are needed: one that is silent would block the rest of this
      // change.
      if (!has_quorum(next, [&](node_id stays) { return autopilot.may_vote(stays); }))
        continue;
      PROBE("admission: a voter becomes a replica");
      return next;
    }
  return std::nullopt;
}

std::vector<node_id> formation::heirs(const configuration& now) const {
  std::vector<node_id> all;
  for (const auto id : now.voters)
    if (const auto* sent = find(id); sent != nullptr && belongs(id) && !sent->replica)
      all.push_back(id);
  return all;
}

bool formation::may_learn_from(node_id leader, const configuration& now) const {
  const auto* sent = find(leader);
  return !settings_.replica || now.is_voter(self_.id) || (sent != nullptr && sent->has_replicas);
}

bool formation::is_replica(node_id id) const {
  const auto* sent = find(id);
  return id == self_.id ? settings_.replica : sent != nullptr && sent->replica;
}

} // namespace belay::raft
