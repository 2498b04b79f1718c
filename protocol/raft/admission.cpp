// Who is taken into a cluster that exists, and how a member is known by its new name or address.

#include "protocol/raft/formation.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

// A learner becomes a voter once it is this close to the end of the leader's log: what is left fits into a few appends.
constexpr std::uint64_t promotion_lag_max = 1000;
// Of servers that an operator wants and that have not come yet.
constexpr std::size_t admitted_max = 64;

bool lower_id(const member& a, const member& b) {
  return a.id < b.id;
}

void add_sorted(std::vector<node_id>& ids, node_id id) {
  ids.insert(std::upper_bound(ids.begin(), ids.end(), id), id);
}

bool same_place(const member& a, const member& b) {
  return a.address == b.address || a.name == b.name || a.uuid == b.uuid;
}

bool close_to(const core& leader, node_id learner) {
  const auto all = leader.progress();
  return std::any_of(all.begin(), all.end(), [&](const progress_view& p) {
    // In a short log even a learner without any entry is close: it must also have confirmed an entry.
    return p.id == learner && p.state == follower_state::replicate && !p.match.is_zero() &&
           p.match.value + promotion_lag_max >= leader.last_index().value;
  });
}

configuration with_learner(configuration now, const member& newcomer) {
  now.members.insert(std::upper_bound(now.members.begin(), now.members.end(), newcomer, lower_id), newcomer);
  add_sorted(now.learners, newcomer.id);
  return now;
}

/// As a voter, and in the place of those who were there before it.
configuration with_voter(configuration now, const member& learner, node_id self) {
  std::erase(now.learners, learner.id);
  std::erase_if(now.members, [&](const member& m) {
    const bool replaced = m.id != learner.id && m.id != self && same_place(m, learner);
    if (replaced) {
      std::erase(now.voters, m.id);
      std::erase(now.learners, m.id);
    }
    return replaced;
  });
  add_sorted(now.voters, learner.id);
  return now;
}

/// The configuration in which that member is what it says it is; nullopt: it is already, or it has taken another's name.
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

const member* formation::rival_of(const member& newcomer, const configuration& now) const {
  for (const auto& m : now.members)
    if (m.id != newcomer.id && same_place(m, newcomer) && (m.id == self_.id || peers_.contains(m.id)))
      return &m;
  return nullptr;
}

void formation::admit(std::string address_or_uuid) {
  std::erase(admitted_, address_or_uuid);
  if (admitted_.size() == admitted_max)
    admitted_.erase(admitted_.begin());
  admitted_.push_back(std::move(address_or_uuid));
}

bool formation::admits(const member& newcomer, const configuration& now) const {
  if (settings_.admit_newcomers || now.contains(newcomer.id))
    return true;
  if (std::any_of(admitted_.begin(), admitted_.end(),
                  [&](const std::string& named) { return named == newcomer.address || named == newcomer.uuid; }))
    return true;
  // In the place of a lost member: rival_of() has seen to it that none of that name and address is heard.
  return std::any_of(now.members.begin(), now.members.end(),
                     [&](const member& m) { return m.name == newcomer.name && m.address == newcomer.address; });
}

std::optional<configuration> formation::next_configuration(const core& leader) const {
  const auto& now = leader.config();
  if (!leader.is_leader() || !leader.may_serve_reads() || now.joint())
    return std::nullopt;
  if (auto next = with_news_of(now, self_))
    return next;
  for (const auto& [id, p] : peers_) {
    if (!belongs(id))
      continue;
    if (auto next = with_news_of(now, p.self))
      return next;
    if (rival_of(p.self, now) != nullptr || !admits(p.self, now))
      continue;
    if (!now.contains(id))
      return with_learner(now, p.self);
    if (std::binary_search(now.learners.begin(), now.learners.end(), id) && close_to(leader, id))
      return with_voter(now, p.self, self_.id);
  }
  return std::nullopt;
}

} // namespace belay::raft
