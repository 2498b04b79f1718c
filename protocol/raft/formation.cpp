#include "protocol/raft/formation.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

// A learner becomes a voter once it is this close to the end of the leader's log: what is left fits into a few appends.
constexpr std::uint64_t promotion_lag_max = 1000;

bool by_id(const member& a, const member& b) {
  return a.id < b.id;
}

void add_sorted(std::vector<node_id>& ids, node_id id) {
  ids.insert(std::upper_bound(ids.begin(), ids.end(), id), id);
}

bool same_place(const member& a, const member& b) {
  return a.address == b.address || a.name == b.name || a.uuid == b.uuid;
}

} // namespace

configuration configuration_of_voters(std::vector<member> members) {
  std::sort(members.begin(), members.end(), by_id);
  configuration c;
  for (const auto& m : members)
    c.voters.push_back(m.id);
  c.members = std::move(members);
  return c;
}

formation::formation(member self, std::string datacenter, std::uint32_t expect, std::uint64_t cluster_id)
    : self_(std::move(self)), datacenter_(std::move(datacenter)), expect_(expect), cluster_id_(cluster_id) {
  look_for_agreement();
}

std::optional<std::string> formation::met(const introduction& peer) {
  if (peer.self.id == self_.id || peer.self.id.is_zero())
    return std::nullopt;
  peers_[peer.self.id] = peer;
  look_for_agreement();
  if (peer.datacenter != datacenter_)
    return "server " + peer.self.name + " at " + peer.self.address + " is of datacenter " + peer.datacenter;
  if (!belongs(peer.self.id))
    return "server " + peer.self.name + " at " + peer.self.address + " belongs to another cluster";
  return std::nullopt;
}

void formation::lost(node_id peer) {
  peers_.erase(peer);
}

bool formation::belongs(node_id peer) const {
  auto it = peers_.find(peer);
  const auto ours = cluster_id_ != 0 ? cluster_id_ : bound_;
  return it != peers_.end() && it->second.datacenter == datacenter_ &&
         (ours == 0 || it->second.cluster_id == 0 || it->second.cluster_id == ours);
}

bool formation::may_be_led_by(node_id peer) {
  if (!belongs(peer))
    return false;
  if (cluster_id_ != 0)
    return true;
  const auto theirs = peers_.at(peer).cluster_id;
  if (bound_ == 0)
    bound_ = theirs;
  return theirs != 0;
}

const introduction* formation::find(node_id peer) const {
  auto it = peers_.find(peer);
  return it == peers_.end() ? nullptr : &it->second;
}

void formation::look_for_agreement() {
  if (cluster_id_ != 0 || expect_ == 0 || !agreed_.empty())
    return;
  std::vector<member> all{self_};
  for (const auto& [id, p] : peers_)
    if (p.cluster_id == 0 && p.expect == expect_ && p.datacenter == datacenter_)
      all.push_back(p.self);
  if (all.size() != expect_)
    return;
  std::sort(all.begin(), all.end(), by_id);
  agreed_ = std::move(all);
}

introduction formation::own() const {
  return {self_, datacenter_, cluster_id_, expect_, agreed_};
}

std::optional<configuration> formation::first_configuration() const {
  if (cluster_id_ != 0 || agreed_.empty())
    return std::nullopt;
  for (const auto& m : agreed_) {
    if (m.id == self_.id)
      continue;
    auto it = peers_.find(m.id);
    if (it == peers_.end() || it->second.agreed != agreed_)
      return std::nullopt;
  }
  return configuration_of_voters(agreed_);
}

void formation::joined(std::uint64_t cluster_id) {
  cluster_id_ = cluster_id;
}

std::uint64_t formation::cluster_id_of(const configuration& first) {
  const auto bytes = encode(first);
  const std::uint64_t id = (std::uint64_t{crc32c(bytes)} << 32) | crc32c(bytes, 1);
  return id == 0 ? 1 : id;
}

const member* formation::rival_of(const member& newcomer, const configuration& now) const {
  for (const auto& m : now.members)
    if (m.id != newcomer.id && same_place(m, newcomer) && (m.id == self_.id || peers_.contains(m.id)))
      return &m;
  return nullptr;
}

std::optional<configuration> formation::next_configuration(const core& leader) const {
  const auto& now = leader.config();
  if (!leader.is_leader() || !leader.may_serve_reads() || now.joint())
    return std::nullopt;
  for (const auto& [id, p] : peers_) {
    if (!belongs(id) || rival_of(p.self, now) != nullptr)
      continue;
    if (!now.contains(id)) {
      configuration next = now;
      next.members.insert(std::upper_bound(next.members.begin(), next.members.end(), p.self, by_id), p.self);
      add_sorted(next.learners, id);
      return next;
    }
    if (!std::binary_search(now.learners.begin(), now.learners.end(), id))
      continue;
    for (const auto& progress : leader.progress()) {
      // In a short log even a learner without any entry is close: it must also have confirmed an entry.
      if (progress.id != id || progress.state != follower_state::replicate || progress.match.is_zero() ||
          progress.match.value + promotion_lag_max < leader.last_index().value)
        continue;
      configuration next = now;
      std::erase(next.learners, id);
      // id and p are captured by name, because clang before 16 does not capture structured bindings.
      std::erase_if(next.members, [&, id = id, &p = p](const member& m) {
        const bool replaced = m.id != id && m.id != self_.id && same_place(m, p.self);
        if (replaced) {
          std::erase(next.voters, m.id);
          std::erase(next.learners, m.id);
        }
        return replaced;
      });
      add_sorted(next.voters, id);
      return next;
    }
  }
  return std::nullopt;
}

} // namespace belay::raft
