#pragma once
// How servers that know nothing of each other become a cluster, once; and how a newcomer is fitted into one that exists.

#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::raft {

/// What a peer said of itself.
struct introduction {
  member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: in no cluster yet
  std::uint32_t expect = 0;     ///< bootstrap_expect
  std::vector<member> agreed;   ///< the complete initial set as the peer sees it; empty: not complete yet
};

/// The first configuration is made when `expect` servers, ourselves included, have each named the same set of exactly that size. A set
/// once named stays until the process ends, so no server can take part in two first configurations.
class formation {
public:
  /// `cluster_id` zero: this node is in no cluster yet.
  formation(member self, std::string datacenter, std::uint32_t expect, std::uint64_t cluster_id);

  /// @returns a text for the log if the peer cannot belong to us (other datacenter, other cluster).
  std::optional<std::string> met(const introduction& peer);
  void lost(node_id peer);

  /// What we say of ourselves now.
  introduction own() const;
  /// Set as soon as all agree and we are in no cluster: bootstrap with it.
  std::optional<configuration> first_configuration() const;
  /// We are in that cluster from now on.
  void joined(std::uint64_t cluster_id);
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// Of the first configuration: what its cluster is called.
  static std::uint64_t cluster_id_of(const configuration& first);
  /// Whether frames of that peer may be listened to.
  bool belongs(node_id peer) const;
  const introduction* find(node_id peer) const;

  /// Leader only: the next configuration that brings in a connected newcomer, or takes the place of a server whose address, name or
  /// node ID it has taken over (a wiped server comes back under a new id, R8); nullopt: nothing to do. A member that is alive is never
  /// replaced: two servers with one name would take turns for ever.
  std::optional<configuration> next_configuration(const core& leader) const;
  /// The living member whose address, name or node ID that server claims, too; null: none.
  const member* rival_of(const member& newcomer, const configuration& now) const;

private:
  void look_for_agreement();

  member self_;
  std::string datacenter_;
  std::uint32_t expect_;
  std::uint64_t cluster_id_;
  std::vector<member> agreed_;
  std::map<node_id, introduction> peers_;
};

/// Sorted by id, everybody votes.
configuration configuration_of_voters(std::vector<member> members);

} // namespace belay::raft
