#pragma once
// How servers that know nothing of each other become a cluster (bootstrap_expect), once; and which change of the
// configuration brings a newcomer into a cluster that exists (admission.cpp).
//
// The rule, and why there are never two first configurations as long as any two sets of `expect` servers have one in
// common (up to 2 * expect - 1 servers; more of them form two clusters only if they cannot hear each other):
//
// - A server holds one *promise* at a time: a set of exactly `expect` servers, in a numbered round. It is on the disk
//   before a peer hears of it. Rounds only rise, and in one round a server promises one set at most.
// - The first configuration is made by a server that hears all members of its set name the same set in the same round.
//   So whoever makes it knows that all have promised it.
// - A promise is let go only when it is certain that nobody has made it: a member of the set names another set in the
//   same round, or is in a later one, or has got into a cluster in an earlier one. That member either never promised this
//   set, and never can; or it has let it go for the same reason. By induction nobody has heard all of them name it.
// - If a member of the set has gone for good, nobody can be certain. Then those who are left *give up*: each promises on
//   its disk never to make this configuration and never to vote in its cluster. Once so many have that the rest is no
//   majority, that cluster can have no leader, and the promise is let go.
// - Nobody promises or makes anything while a peer that can be reached belongs to a cluster or has a log, or hears
//   somebody who does.
//
// Which set is promised does not matter for safety. It is the lowest ids among those that are heard, so that all choose
// the same one as soon as they hear the same servers; whoever is not in it waits and is taken in.

#include "protocol/raft/autopilot.hpp"
#include "protocol/raft/core.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::raft {

/// What a server has promised about the first configuration: on its disk before it is said.
struct promise {
  std::uint64_t round = 0;
  std::vector<member> set; ///< sorted by id; empty: none in this round
  bool given_up = false;   ///< it will not make this configuration any more
  /// Clusters, by their numbers, whose sets it has given up: no vote for them, ever.
  std::vector<std::uint64_t> refused;

  bool operator==(const promise&) const = default;
};

/// For the disk. encode() has a checksum.
std::string encode(const promise& p);
std::optional<promise> decode_promise(std::string_view bytes);

/// What a server says of itself to its peers.
struct introduction {
  member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: in no cluster yet
  std::uint32_t expect = 0;     ///< bootstrap_expect
  bool promises = true;         ///< false: a server of an earlier version, with which no first configuration is made
  promise first;
  bool has_log = false;        ///< it has entries, or a term
  bool hears_cluster = false;  ///< it hears a server that belongs to a cluster or has a log
  bool disk_full = false;      ///< it cannot acknowledge anything; of no meaning here
  std::uint16_t level = 0;     ///< feature level (protocol/state/feature_levels.hpp); 0: from before there were levels
  bool proven = false;         ///< it has shown credentials on the connection on which it said this
  bool knows_replicas = false; ///< false: a server of an earlier version, which would make a voter of every learner
  bool replica = false;        ///< it is to have no vote (read_replica)
};

struct formation_settings {
  std::uint32_t expect = 0; ///< bootstrap_expect; 0: waits for a cluster that takes it in
  /// Servers that introduce themselves are taken into a cluster that exists without an operator, also when they have not
  /// proved who they are.
  bool admit_newcomers = false;
  /// This server is to have no vote: it forms no cluster, and is a learner of the one that takes it in (docs/adr/0013).
  bool replica = false;
  /// A member that its leader has not heard for so long is lost: a server of its name and address may take its place
  /// without an operator or credentials. Much more than a restart takes.
  int lost_ticks = 200;
  /// Nothing is promised until no other server was met for so long, unless all are there that were named.
  int patience_ticks = 80;
  /// A promise is given up when a member of its set was not heard for so long.
  int give_up_ticks = 400;
  /// So many sets are promised at once, one after another, since somebody was met or lost. Each later one comes after a
  /// pause, of a tick at first, then twice as long as the one before, up to pause_ticks_max. Servers that do not all hear
  /// each other can want different sets again and again, as fast as they hear of it.
  int sets_at_once = 8;
  int pause_ticks_max = 32;
};

/// One server's side of it.
class formation {
public:
  /// `cluster_id` zero: this node is in no cluster yet. `kept`: as it was on the disk.
  formation(member self, std::string datacenter, formation_settings s, std::uint64_t cluster_id, promise kept = {});

  /// A peer has introduced itself.
  /// @returns a text for the log if it does not belong here, but to another datacenter or cluster
  std::optional<std::string> met(const introduction& peer);
  void lost(node_id peer);
  /// With every tick. `all_met`: nobody is missing of those whom this server was told to look for.
  void tick(bool all_met);
  /// This server's log is not empty any more, or its term: it makes no first configuration.
  void has_log() { has_log_ = true; }

  /// What this server says of itself now.
  introduction own() const;
  /// What this server should promise next: keep it on the disk, then call promised().
  std::optional<promise> next_promise() const;
  void promised(promise p);
  /// Set as soon as all agree and this server is in no cluster: bootstrap with it.
  std::optional<configuration> first_configuration() const;
  /// This server is in that cluster from now on.
  void joined(std::uint64_t cluster_id);
  std::uint64_t cluster_id() const { return cluster_id_; }
  /// The number by which the servers of a cluster know each other: made from its first configuration.
  static std::uint64_t cluster_id_of(const configuration& first);

  /// Whether frames of that peer may be used.
  bool belongs(node_id peer) const;
  /// Whether this server may follow that peer (`leads`: it sent what only leaders send) or vote for it.
  bool may_follow(node_id peer, bool leads) const;
  /// What that peer says changes this server's log or term: its cluster is the only one from now on, if it is in none yet.
  void bind(node_id peer);
  const introduction* find(node_id peer) const;
  /// All that are heard now, with what they said last.
  std::vector<introduction> heard() const;
  /// Addresses of the servers of this datacenter that are heard now.
  std::vector<std::string> heard_addresses() const;
  /// A server that this one waits for to form a cluster; for the log. Empty: none.
  std::string waits_for() const;

  /// On the leader: the next configuration on a connected server's way, or nullopt. A newcomer first becomes a learner;
  /// once its log is close to the leader's, a voter. With that it replaces a member with the same address, name or node
  /// ID: a server whose disk was wiped comes back under a new id (docs/pitfalls.md R8). A member that is connected is
  /// never replaced, or two servers with one name would take turns for ever. A member that says that it has another name
  /// or address than the configuration knows gets it.
  ///
  /// A newcomer that neither an operator wants nor credentials prove is one of those that replace: it comes under the name
  /// *and* address of a member that is lost (formation_settings::lost_ticks), and votes from the same step on in which that
  /// one does not any more. It is dropped when that member is back, or when it says something else of itself before it
  /// votes, so that it never is one voter more.
  ///
  /// A server that says it is a replica stays a learner, and of the others becomes a voter who has been healthy for long
  /// enough, as `pilot` says. Null: all have.
  std::optional<configuration> next_configuration(const core& leader, const autopilot* pilot = nullptr) const;
  /// On the leader: the configuration without servers that are dead, as far as `pilot` wants that and they would be taken in
  /// again without an operator; nullopt: nobody is to be removed. Dead is who was not heard for formation_settings::lost_ticks
  /// and is not connected.
  std::optional<configuration> without_dead(const core& leader, const autopilot& pilot) const;
  /// On the leader: the configuration in which a voter that says it is a replica has no vote, if enough stay and a majority of
  /// them has been healthy for long enough; nullopt: there is none. It may be refused for as long as too few of those that stay are heard, so everything else goes first.
  std::optional<configuration> next_demotion(const core& leader, const autopilot& pilot) const;
  /// The leader that is to have no vote hands over to one of these: voters that are heard and are to have one.
  std::vector<node_id> heirs(const configuration& now) const;
  /// Whether this server, being a replica, may take what only leaders send from that peer: one that does not know of replicas
  /// would make a voter of it. Only as long as it is no voter by its configuration.
  bool may_learn_from(node_id leader, const configuration& now) const;
  /// As that server, or this one, says of itself; false: it is not heard.
  bool is_replica(node_id id) const;
  /// A connected member with the same address, name or node ID as that newcomer; null: none.
  const member* rival_of(const member& newcomer, const configuration& now) const;
  /// An operator wants the server at that address, or with that node ID, to be taken in, whoever it is.
  void admit(std::string address_or_uuid);
  /// That member leaves: it is not taken in again before it was lost, unless an operator wants it.
  void let_go(node_id leaver) { let_go_.insert(leaver); }
  bool was_let_go(node_id peer) const { return let_go_.contains(peer); }
  /// What operators wanted is fulfilled by members that are heard, once: whoever comes to such an address later is not
  /// whom they meant. With every tick.
  void forget_admissions(const configuration& now);
  /// Whether that server may be taken in, now or when the member whose place it wants has been silent for long enough.
  bool admits(const introduction& newcomer, const configuration& now) const;

private:
  bool may_form() const { return cluster_id_ == 0 && settings_.expect != 0 && !settings_.replica && !has_log_; }
  bool eligible(const introduction& p) const;
  std::uint64_t promised_cluster() const;
  bool is_elsewhere(const introduction& p) const;
  bool is_refused(const introduction& p) const;
  bool cluster_near() const;
  bool cluster_told() const;
  bool ignored(std::uint64_t cluster) const;
  bool could_refuse(const introduction& p, std::uint64_t cluster) const;
  bool dead(const promise& p) const;
  bool given_up_by_enough(const promise& p) const;
  bool hears_promised_set() const;
  bool should_give_up() const;
  std::vector<member> chosen_set() const;
  std::uint64_t round_for(const std::vector<member>& set) const;
  bool trusts(const introduction& p) const;
  bool is_wanted(const member& newcomer) const;
  bool all_lost_before(const member& newcomer, const core& leader) const;
  std::optional<configuration> without_idle_learner(const configuration& now) const;

  member self_;
  std::string datacenter_;
  formation_settings settings_;
  std::uint64_t cluster_id_;
  promise promise_;
  bool has_log_ = false;
  std::uint64_t bound_to_ = 0; ///< the cluster whose frames were taken; 0: none yet
  int calm_ticks_ = 0;         ///< since somebody was met or lost
  bool all_met_ = false;
  int silent_ticks_ = 0; ///< since all members of the promised set were heard
  int sets_in_row_ = 0;  ///< promised since somebody was met or lost
  int pause_ticks_ = 0;  ///< until the next set may be promised
  std::map<node_id, introduction> peers_;
  std::vector<std::string> admitted_; ///< addresses and node IDs
  std::set<node_id> let_go_;
};

/// Sorted by id, everybody votes.
configuration configuration_of_voters(std::vector<member> members);

} // namespace belay::raft
