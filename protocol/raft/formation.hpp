#pragma once
// How servers that know nothing of each other become a cluster (bootstrap_expect), once; and which change of the
// configuration brings a newcomer into a cluster that exists.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::raft {

/// What a server says of itself to its peers.
struct introduction {
  member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: in no cluster yet
  std::uint32_t expect = 0;     ///< bootstrap_expect
  std::vector<member> agreed;   ///< the complete initial set as the peer sees it; empty: not complete yet
  std::uint16_t level = 0; ///< feature level (protocol/state/feature_levels.hpp); known of members of a cluster only
};

/// One server's side of it. The first configuration is made when `expect` servers, this one included, have each named
/// the same set of exactly that size. A server never names another set before its process ends, so it cannot take part
/// in two first configurations.
class formation {
public:
  /// `cluster_id` zero: this node is in no cluster yet.
  formation(member self, std::string datacenter, std::uint32_t expect, std::uint64_t cluster_id);

  /// A peer has introduced itself.
  /// @returns a text for the log if it does not belong here, but to another datacenter or cluster
  std::optional<std::string> met(const introduction& peer);
  void lost(node_id peer);

  /// What this server says of itself now.
  introduction own() const;
  /// Set as soon as all agree and this server is in no cluster: bootstrap with it.
  std::optional<configuration> first_configuration() const;
  /// This server is in that cluster from now on.
  void joined(std::uint64_t cluster_id);
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// The number by which the servers of a cluster know each other: made from its first configuration.
  static std::uint64_t cluster_id_of(const configuration& first);
  /// Whether frames of that peer may be used.
  bool belongs(node_id peer) const;
  /// Whether appends and snapshots of that peer may be used: it belongs, and it is in a cluster. A server that is in none
  /// yet is bound to the cluster of the first such peer: until its process ends, others do not belong any more.
  bool may_be_led_by(node_id peer);
  const introduction* find(node_id peer) const;

  /// On the leader: the next configuration on a connected newcomer's way to become a voter, or nullopt. First it
  /// becomes a learner; once its log is close to the leader's, a voter. With that it replaces a member with the same
  /// address, name or node ID: a server whose disk was wiped comes back under a new id (docs/pitfalls.md R8). A member
  /// that is connected is never replaced, or two servers with one name would take turns for ever.
  std::optional<configuration> next_configuration(const core& leader) const;
  /// A connected member with the same address, name or node ID as that newcomer; null: none.
  const member* rival_of(const member& newcomer, const configuration& now) const;

private:
  void look_for_agreement();

  member self_;
  std::string datacenter_;
  std::uint32_t expect_;
  std::uint64_t cluster_id_;
  std::uint64_t bound_ = 0; ///< in no cluster yet: whose leader's frames were taken
  std::vector<member> agreed_;
  std::map<node_id, introduction> peers_;
};

/// Sorted by id, everybody votes.
configuration configuration_of_voters(std::vector<member> members);

} // namespace belay::raft
