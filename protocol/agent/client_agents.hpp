#pragma once
// What the leader keeps in the catalog of client agents: their nodes and the check "serfHealth" (docs/contract/08). The catalog is the
// only list of them that lasts: a new leader begins with the nodes that it finds there, and gives each of them time to be heard.

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
  /// An agent that was not heard for so long is critical. Also from the beginning of a leadership on.
  local_time silence = std::chrono::seconds(5);
  /// The node of one that was not heard for so long is deregistered (Consul's reconnect_timeout).
  local_time forgotten = std::chrono::hours(72);
  /// Between two looks at the rows of an agent of which there is no news (Consul's reconcile interval).
  local_time look_again = std::chrono::seconds(60);
  std::size_t agents_max = 65'536; ///< more are not heard
  /// One that was told to leave and is still heard is shown as leaving for so long, from when the leader sees it.
  local_time leaving_shown = std::chrono::seconds(5);
};

/// One of them, as the catalog shows it.
struct client_agent {
  std::string name, uuid;
  std::string address; ///< without port
  bool alive = true;
  bool leaving = false; ///< somebody has told it to leave, and nobody has objected yet

  bool operator==(const client_agent&) const = default;
};

/// The name of the node's metadata that has the hash of the secret of its agent. Public, as all metadata: a hash of 256 random bits tells
/// nothing. Writing it needs node:write, as the node's address does.
inline constexpr std::string_view proof_of_agent = "belay-node-proof";

/// The name of the node's metadata that says it was told to leave (force-leave of one that lives).
inline constexpr std::string_view mark_of_leaving = "belay-told-to-leave";
/// Writes that. The leader takes it back if the agent is still heard after a while, as Consul's agents object.
state::catalog_register told_to_leave(const state::node_record& node);

/// Those among the nodes of the catalog, by name. @param critical checks that are; @param servers names and IDs of their nodes
std::vector<client_agent> client_agents_among(const std::vector<state::node_ptr>& nodes,
                                              const std::vector<state::check_ptr>& critical,
                                              const std::set<std::string>& servers);

/// Why an agent may speak for a node (docs/security.md, B3).
struct agent_evidence {
  std::string source; ///< where its connection comes from; empty: not known, as long as a server of 0.2.0 is a member
  std::string proof;  ///< hash of the secret that it sent; empty: it sent none, as 0.2.0
  bool authenticated = false; ///< its connection, by `encrypt` or a certificate

  bool operator==(const agent_evidence&) const = default;
};

/// Decides; whoever owns it reads the rows that it wants to see and proposes what it wants to be written. Only of use to the leader.
class client_agents {
public:
  struct identity {
    std::string name, uuid;
    std::string address; ///< without port

    bool operator==(const identity&) const = default;
  };

  using evidence = agent_evidence;

  explicit client_agents(client_agent_limits limits = {}) : limits_(limits) {}

  /// A leadership begins: nobody has been heard in it yet.
  void begin(local_time now);
  /// Nodes of the catalog at the beginning. Those that look like agents' and are none of `servers` (IDs of nodes) have to be heard from now on.
  void found(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers, local_time now);

  /// An archive took the place of the catalog: what it said of agents is void, and all that were heard are looked at at
  /// once. found_again() follows.
  void catalog_replaced(local_time now);
  /// The same as found(), in a leadership that goes on: an agent of the archive that was not heard in it has been silent
  /// since it began.
  void found_again(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers);
  /// The catalog says of all that are alive that they are.
  bool all_shown(local_time now) const;

  /// Who is a server is no client agent, even if he was found when he was none. @param servers IDs of nodes
  void are_servers(const std::set<std::string>& servers);

  /// Why that one is not heard: its name is another living one's, the node is not its own, or there are too many; nullopt: it is.
  std::optional<std::string> refusal_of(const identity& who, local_time now, const evidence& by = {}) const;
  /// @returns false: refusal_of() says why
  bool heard(const identity& who, local_time now, const evidence& by = {});
  /// Why its rows were not for it when they were looked at last; null: they were, or nobody has looked. Until it is heard again.
  const std::string* refused(const identity& who) const;
  /// It was answered: the next time that it is heard its rows are read again.
  void forget_refusal(const identity& who);
  /// The catalog was seen to say that it is alive.
  bool shown_alive(const identity& who) const;
  /// Its node is to go, if it is its own: look() decides.
  void leaves(const identity& who, local_time now, const evidence& by = {});

  /// Agents whose rows should be looked at now, at most `limit`. Each is named again when look() or cannot_look() was called for it.
  std::vector<std::string> due(local_time now, std::size_t limit);
  /// What the catalog says of that one. @param row,liveness null: there is none
  /// @returns what has to be written. The next look shows whether it was
  std::optional<state::command> look(const std::string& name, const state::node_record* row,
                                     const state::check_record* liveness, local_time now,
                                     const std::string& datacenter);
  void cannot_look(const std::string& name, local_time now);

  std::size_t size() const { return agents_.size(); }

private:
  /// What the catalog says of whose the node is.
  struct owner {
    std::string uuid, address, proof;
  };
  struct known {
    identity who;
    evidence by;           ///< of the one that was heard last
    bool accepted = false; ///< `who` may speak for the node by what the catalog said
    /// Whose the node is: as its row says, or as it will after what was proposed last. nullopt: it has no row, or was not looked at
    std::optional<owner> of;
    local_time of_awaited_until{}; ///< until then `of` counts without a row
    local_time last_heard{};       ///< or when the leadership began
    bool heard = false;            ///< in this leadership
    bool leaving = false;
    bool looking = false;
    local_time next_look{}, pause{};
    std::optional<bool> told_alive;          ///< what the catalog said of it last
    std::optional<std::string> written;      ///< the status that this leader proposed last; empty: that the node goes
    log_index seen_then;                     ///< when its rows had changed last, as they were when that was proposed
    local_time unsettled_until{};            ///< until then something else that was proposed before may take effect
    std::optional<local_time> leaving_until; ///< it was told to leave, and objects then

    /// Nobody has had the time yet to notice that it does not.
    bool may_live(local_time now, const client_agent_limits& l) const {
      return now - last_heard <= l.silence || (heard && MUTANT(agent_death_unnoticed));
    }
    bool alive(local_time now, const client_agent_limits& l) const { return heard && may_live(now, l); }
  };

  using refusal_key = std::pair<std::string, std::string>; ///< folded name, and ID
  static refusal_key key_of(const identity& who);
  static owner owner_of(const state::node_record& n);
  static void take(known& k, const identity& who, const evidence& by);
  static void take_owner(known& k, const state::node_record* row, local_time now);
  void await(const state::node_record& n, local_time from);
  void look_soon(known& k, local_time now) const;
  enum class says : std::uint8_t { is_there, leaves };
  static std::optional<std::string> objection(const identity& who, const evidence& by, const known& k, says what);
  void refused_at_look(const known& k, std::string why);
  void have_to_be_heard(const std::vector<state::node_ptr>& nodes, const std::set<std::string>& servers);

  client_agent_limits limits_;
  local_time begun_{};
  std::map<std::string, known> agents_; ///< by folded name
  /// Of those that the rows were not for, by name and ID: told when they are heard next.
  std::map<refusal_key, std::string> refused_;
};

} // namespace belay::agent
