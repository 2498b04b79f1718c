#pragma once
// How servers that do not know each other become a cluster (bootstrap_expect), once; and
// how the configuration changes when a server joins an existing cluster (admission.cpp).
//
// The rule guarantees one first configuration if any two sets of `expect` servers intersect (up
// to 2 * expect - 1 servers; more can form two clusters, but only if they are partitioned):
//
// - A server has one *promise* at a time: a set of exactly `expect` servers in a numbered round. It
//   is on disk before any peer sees it. Rounds only rise; a round has at most one set per server.
// - The first configuration is created by a server that receives the same set and
//   round from all members of its set. So it knows that all have promised it.
// - A promise is dropped only if it is certain that no server has created it: a member names
//   another set in the same round, is in a later round, or joined a cluster in an earlier one. It
//   never promised this set and no longer can, or dropped it for the same reason (by induction).
// - If a member of the set is lost forever, certainty is impossible. Then the others *give up*:
//   each promises on disk never to create this configuration or vote in its cluster. When the
//   rest is not a majority, that cluster can have no leader, and the promise is dropped.
// - No server promises or creates anything while a reachable peer
//   belongs to a cluster, has a log, or reports a server that does.
//
// The choice of the set does not matter for safety. It is the lowest reachable ids, so that servers
// agree once they reach the same servers. A server that is not in it waits and is added later.

#include "protocol/raft/autopilot.hpp"
#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::raft {

/// A server's promise about the first configuration: on its disk before it is sent.
struct promise {
  std::uint64_t round = 0;
  std::vector<member> set; ///< sorted by id; empty: none in this round
  bool given_up = false;   ///< this server will never create this configuration
  /// Numbers of clusters whose sets it has given up: it never votes in them.
  std::vector<std::uint64_t> refused;

  bool operator==(const promise&) const = default;
};

/// The bytes for the disk. encode() adds a checksum.
std::string encode(const promise& p);
std::optional<promise> decode_promise(std::string_view bytes);

/// What a server reports to its peers about itself.
struct handshake {
  member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: in no cluster yet
  std::uint32_t expect = 0;     ///< bootstrap_expect
  bool promises = true;         ///< false: an earlier version, with which no first configuration is created
  promise first;
  bool has_log = false;         ///< it has entries, or a term
  bool reaches_cluster = false; ///< it can reach a server that belongs to a cluster or has a log
  bool disk_full = false;       ///< it cannot acknowledge anything; not used here
  std::uint16_t level = 0;      ///< feature level (protocol/state/feature_levels.hpp); 0: predates levels
  bool proven = false;          ///< its connection presented credentials
  bool has_replicas = false;    ///< false: an earlier version, which would make every learner a voter
  bool replica = false;         ///< it must not get a vote (read_replica)
};

struct formation_settings {
  std::uint32_t expect = 0; ///< bootstrap_expect; 0: waits for a cluster that adds it
  /// Servers that connect are added to an existing cluster
  /// without an operator, even if they presented no credentials.
  bool admit_newcomers = false;
  /// This server gets no vote: it forms no cluster, and joins one as a learner (docs/internals/adr/0013).
  bool replica = false;
  /// A member is lost if its leader received nothing for this long. A server with its name and
  /// address may replace it without operator or credentials. Much longer than a restart.
  int lost_ticks = 200;
  /// How long no new server must have appeared before this one promises, unless all configured
  /// servers are connected.
  int timeout_ticks = 80;
  /// Silence of a member of the set after which its promise is given up.
  int give_up_ticks = 400;
  /// Promises in a row without a pause, since a server was met or lost. Later ones wait
  /// first: one tick, then twice the last pause, up to pause_ticks_max. Servers that do not
  /// all reach each other can want different sets forever, at the speed of their messages.
  int sets_at_once = 8;
  int pause_ticks_max = 32;
};

/// The state of one server.
class formation {
public:
  /// `cluster_id` zero: this node is in no cluster yet. `kept`: the promise found on disk.
  formation(member self, std::string datacenter, formation_settings s, std::uint64_t cluster_id, promise kept = {});

  /// A peer has introduced itself.
  /// @returns a text for the log if the peer belongs to another datacenter or cluster
  std::optional<std::string> met(const handshake& peer);
  void lost(node_id peer);
  /// Call at every tick. `all_met`: all servers that are configured here were met.
  void tick(bool all_met);
  /// This server's log or term is no longer empty: it creates no first configuration.
  void has_log() { has_log_ = true; }

  /// What this server reports about itself now.
  handshake own() const;
  /// The next promise: store it on disk, then call promised().
  std::optional<promise> next_promise() const;
  void promised(promise p);
  /// Set once all agree and this server is in no cluster: bootstrap with it.
  std::optional<configuration> first_configuration() const;
  /// This server is in that cluster from now on.
  void joined(std::uint64_t cluster_id);
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// The number that identifies a cluster: derived from its first configuration.
  static std::uint64_t cluster_id_of(const configuration& first);

  /// Whether frames of that peer may be used.
  bool belongs(node_id peer) const;
  /// Whether this server may follow that peer (`leads`: it acts as a leader) or vote for it.
  bool may_follow(node_id peer, bool leads) const;
  /// The peer's message changes log or term: binds this server to its cluster, unless it has one.
  void bind(node_id peer);
  const handshake* find(node_id peer) const;
  /// All connected peers, with their last introduction.
  std::vector<handshake> connected() const;
  /// Addresses of the connected servers of this datacenter.
  std::vector<std::string> connected_addresses() const;
  /// A server that this one waits for to form a cluster; for the log. Empty: none.
  std::string waits_for() const;

  /// On the leader: the next configuration toward adding a connected server, or nullopt. A new
  /// server first becomes a learner, and a voter when its log is close to the leader's. Then it
  /// replaces a member with the same address, name or node ID, because a server whose disk was
  /// wiped returns with a new id (docs/internals/pitfalls.md R8). Connected members are never
  /// replaced: two servers with one name would alternate forever. New names and addresses of
  /// members are adopted.
  ///
  /// A new server without operator approval or credentials can only replace. It must have the name
  /// *and* address of a lost member (formation_settings::lost_ticks), and gets its vote in the step
  /// in which that member loses it. It is removed if that member returns, or if it reports other
  /// data of itself before it votes: the number of voters never grows.
  ///
  /// A replica stays a learner. Others become voters when they have
  /// been healthy for long enough, by `autopilot`. Null: all have.
  std::optional<configuration> next_configuration(const core& leader, const autopilot* autopilot = nullptr) const;
  /// On the leader: the configuration without dead servers, if `autopilot` decides so and they
  /// could rejoin without an operator; nullopt: remove none. Dead: not connected, and the leader
  /// received nothing for formation_settings::lost_ticks.
  std::optional<configuration> without_dead(const core& leader, const autopilot& autopilot) const;
  /// On the leader: the configuration without the vote of a replica, if enough voters stay, most
  /// of them healthy for long enough; nullopt: none. May be rejected for some time, so do it last.
  std::optional<configuration> next_demotion(const core& leader, const autopilot& autopilot) const;
  /// Transfer targets for a leader that must have no vote: reachable voters that keep theirs.
  std::vector<node_id> heirs(const configuration& now) const;
  /// Whether this server, a replica that is not a voter, may accept a leader's messages from that
  /// peer. A leader that does not know replicas would make it a voter.
  bool may_learn_from(node_id leader, const configuration& now) const;
  /// Whether that server, or this one, reports that it is a replica; false if it is not connected.
  bool is_replica(node_id id) const;
  /// A connected member with the same address, name or node ID as that new server; null: none.
  const member* rival_of(const member& joining_member, const configuration& now) const;
  /// An operator approves the server with that address or node ID, with or without credentials.
  void admit(std::string address_or_uuid);
  /// That member leaves: it is not added again before it was lost, unless an operator approves it.
  void let_go(node_id leaving_member) { let_go_.insert(leaving_member); }
  bool was_let_go(node_id peer) const { return let_go_.contains(peer); }
  /// Drops approvals that connected members have used: a later server at such
  /// an address is not the one that the operator meant. Call at every tick.
  void forget_admissions(const configuration& now);
  /// Whether that server may be added, now or once the member that it replaces is lost.
  bool admits(const handshake& joining_member, const configuration& now) const;

private:
  bool may_form() const { return cluster_id_ == 0 && settings_.expect != 0 && !settings_.replica && !has_log_; }
  bool eligible(const handshake& p) const;
  std::uint64_t promised_cluster() const;
  bool is_elsewhere(const handshake& p) const;
  bool is_refused(const handshake& p) const;
  bool cluster_near() const;
  bool cluster_received() const;
  bool ignored(std::uint64_t cluster) const;
  bool could_refuse(const handshake& p, std::uint64_t cluster) const;
  bool dead(const promise& p) const;
  bool given_up_by_enough(const promise& p) const;
  bool reaches_promised_set() const;
  bool should_give_up() const;
  std::vector<member> chosen_set() const;
  std::uint64_t round_for(const std::vector<member>& set) const;
  bool trusts(const handshake& p) const;
  bool is_wanted(const member& joining_member) const;
  bool all_lost_before(const member& joining_member, const core& leader) const;
  std::optional<configuration> without_idle_learner(const configuration& now) const;

  member self_;
  std::string datacenter_;
  formation_settings settings_;
  std::uint64_t cluster_id_;
  promise promise_;
  bool has_log_ = false;
  std::uint64_t bound_to_ = 0; ///< the cluster whose frames were accepted; 0: none yet
  int calm_ticks_ = 0;         ///< since a server was met or lost
  bool all_met_ = false;
  int silent_ticks_ = 0; ///< since all members of the promised set were reachable
  int sets_in_row_ = 0;  ///< promised since a server was met or lost
  int pause_ticks_ = 0;  ///< until the next set may be promised
  std::map<node_id, handshake> peers_;
  std::vector<std::string> admitted_; ///< addresses and node IDs
  std::set<node_id> let_go_;
};

/// Sorted by id; all are voters.
configuration configuration_of_voters(std::vector<member> members);

} // namespace belay::raft
