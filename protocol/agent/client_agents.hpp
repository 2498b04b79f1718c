#pragma once
// What the leader maintains in the catalog for client agents: their nodes and checks "serfHealth"
// (docs/contract/08). Only the catalog is a durable list of them: a new leader starts with it.

#include "protocol/agent/check_schedule.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/state/queries.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace belay::agent {

struct client_agent_limits {
  /// Silence after which an agent is critical. It counts from the start of the leadership at the
  /// earliest.
  local_time silence = std::chrono::seconds(5);
  /// Silence after which the node is deregistered (Consul's reconnect_timeout).
  local_time forgotten = std::chrono::hours(72);
  /// Interval for checking the rows of an agent without news (Consul's reconcile interval).
  local_time look_again = std::chrono::seconds(60);
  std::size_t agents_max = 65'536; ///< more are ignored
  /// How long an agent with a leave request that stays alive is shown as leaving by the leader.
  local_time leaving_shown = std::chrono::seconds(5);
};

/// An agent, as the catalog shows it.
struct client_agent {
  std::string name, uuid;
  std::string address; ///< without port
  bool alive = true;
  bool leaving = false; ///< asked to leave by an operator; it has not objected yet

  bool operator==(const client_agent&) const = default;
};

/// Key of the node metadata with the hash of its agent's secret. Public, like all metadata: a
/// hash of 256 random bits reveals nothing. Writing it needs node:write, as the address does.
inline constexpr std::string_view proof_of_agent = "belay-node-proof";

/// Key of the node metadata that marks a node that was asked to leave (force-leave while alive).
inline constexpr std::string_view key_of_leaving = "belay-told-to-leave";
/// Writes that mark. The leader removes it if the agent stays alive, as Consul's agents object.
state::catalog_register requested_to_leave(const state::node_record& node);

/// Client agents, by name.
/// @param critical critical checks
/// @param servers their nodes' names, IDs
std::vector<client_agent> client_agents_among(const std::vector<state::node_ptr>& nodes,
                                              const std::vector<state::check_ptr>& critical,
                                              const std::set<std::string>& servers);

/// Evidence that an agent may act for a node (docs/operate/security.md, B3).
struct agent_evidence {
  std::string source;         ///< address of its connection; empty: unknown, while a server of 0.2.0 is a member
  std::string proof;          ///< hash of the secret that it sent; empty: none, as by 0.2.0
  bool authenticated = false; ///< its connection, by `encrypt` or a certificate

  bool operator==(const agent_evidence&) const = default;
};

/// Decides; its owner reads the rows that it requests, and proposes its commands. Leader only.
class client_agents {
public:
  struct identity {
    std::string name, uuid;
    std::string address; ///< without port

    bool operator==(const identity&) const = default;
  };

  using evidence = agent_evidence;

  explicit client_agents(client_agent_limits limits = {}) : limits_(limits) {}

  /// A leadership starts: no agent has sent a message in it yet.
  void begin(local_time now);
  /// The catalog's nodes at the start. Client agents' nodes (not in `servers`, IDs) are awaited.
  void found(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers, local_time now);

  /// An archive replaced the catalog: its information about agents is void,
  /// and all known agents are checked at once. found_again() follows.
  void catalog_replaced(local_time now);
  /// Like found(), during a leadership: an agent of the archive
  /// that was not heard in it counts as silent since its start.
  void found_again(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers);
  /// Whether the catalog shows all living agents as alive.
  bool all_shown(local_time now) const;

  /// Servers are no client agents, even if found as such before.
  /// @param servers IDs of nodes
  void are_servers(const std::set<std::string>& servers);

  /// Why the agent is rejected: its name is in use, wrong node, or too many; nullopt: it is not.
  std::optional<std::string> refusal_of(const identity& who, local_time now, const evidence& by = {}) const;
  /// @returns false: refusal_of() has the reason
  bool received(const identity& who, local_time now, const evidence& by = {});
  /// Why its rows were not its own when they were last read. null: they were its own, they have not
  /// been read, or it has sent a message since.
  const std::string* refused(const identity& who) const;
  /// The refusal was sent: its rows are read again at its next message.
  void forget_refusal(const identity& who);
  /// Whether the catalog was seen to show it alive.
  bool shown_alive(const identity& who) const;
  /// Its node must be removed, if it is its own: look() decides.
  void leaves(const identity& who, local_time now, const evidence& by = {});

  /// Agents whose rows should be read now, at most `limit`. Call look() or cannot_look() for each.
  std::vector<std::string> due(local_time now, std::size_t limit);
  /// The catalog's rows of that agent.
  /// @param row,liveness null: there is none
  /// @returns the command to propose. The next look shows its effect
  std::optional<state::command> look(const std::string& name, const state::node_record* row,
                                     const state::check_record* liveness, local_time now,
                                     const std::string& datacenter);
  void cannot_look(const std::string& name, local_time now);

  std::size_t size() const { return agents_.size(); }

private:
  /// The owner of the node, by the catalog.
  struct owner {
    std::string uuid, address, proof;
  };
  struct known {
    identity who;
    evidence by;           ///< evidence in the last message
    bool accepted = false; ///< the catalog permits `who` to act for the node
    /// The node's owner by its row, or by the last proposal. nullopt: it has no row, or was unread
    std::optional<owner> of;
    local_time of_awaited_until{}; ///< until then `of` counts without a row
    local_time last_contact{};     ///< time of the last message, or of the start of the leadership
    bool received = false;         ///< in this leadership
    bool leaving = false;
    bool looking = false;
    local_time next_look{}, pause{};
    std::optional<bool> sent_liveness;       ///< alive or not, as the catalog showed last
    std::optional<std::string> written;      ///< the status that this leader proposed last; empty: removal of the node
    log_index seen_then;                     ///< when its rows had last changed at the time of that proposal
    local_time unsettled_until{};            ///< until then an earlier proposal may take effect
    std::optional<local_time> leaving_until; ///< it was asked to leave, and objects then

    /// Whether it may be alive: too little time has passed to notice that it is dead.
    bool may_live(local_time now, const client_agent_limits& l) const {
      return now - last_contact <= l.silence || (received && MUTANT(agent_death_unnoticed));
    }
    bool alive(local_time now, const client_agent_limits& l) const { return received && may_live(now, l); }
  };

  using refusal_key = std::pair<std::string, std::string>; ///< folded name, and ID
  static refusal_key key_of(const identity& who);
  static owner owner_of(const state::node_record& n);
  static void take(known& k, const identity& who, const evidence& by);
  static void take_owner(known& k, const state::node_record* row, local_time now);
  void await(const state::node_record& n, local_time from);
  void look_soon(known& k, local_time now) const;
  enum class announcement : std::uint8_t { is_there, leaves };
  static std::optional<std::string> objection(const identity& who, const evidence& by, const known& k,
                                              announcement what);
  void refused_at_look(const known& k, std::string why);

  client_agent_limits limits_;
  local_time begun_{};
  std::map<std::string, known> agents_; ///< by folded name
  /// Refusals of agents whose rows were not their own, by name and ID: sent when the agent sends a
  /// message.
  std::map<refusal_key, std::string> refused_;
};

} // namespace belay::agent
