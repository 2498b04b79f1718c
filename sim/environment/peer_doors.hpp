#pragma once
// The peer ports of all nodes in runs with credentials. The server's own code accepts or rejects
// peers in real TLS handshakes; an independent model checks it. Operators change credentials.

#include "actors/node/reloader.hpp"
#include "sim/credentials/credential_model.hpp"
#include "sim/credentials/test_ca.hpp"
#include "sim/environment/agent_connections.hpp"
#include "sim/environment/event_trace.hpp"
#include "sim/environment/schedule.hpp"
#include "sim/environment/simulated_clock.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace belay::sim {

class peer_doors {
public:
  peer_doors(const schedule& time, event_trace& trace, std::size_t nodes)
      : time_(time), trace_(trace), servers_(nodes) {}

  // ---- what operators do
  /// Changes the configuration file; in force after the next start or reload. @pre at most one key
  void configure(std::size_t node, credential_facts f);
  const credential_facts& configured(std::size_t node) const { return servers_[node].configured; }
  /// Reloads as on SIGHUP. @pre it runs
  void reload(std::size_t node);
  /// Writes its keyring file by hand, even if there is none yet. @returns false: the disk was full
  bool write_keyring(std::size_t node, storage::file_system& data, const std::vector<std::string>& keys);
  /// Its disk or keyring differs from what others assume, so a rejection is not a failure.
  void excuse(std::size_t node, bool on) { servers_[node].excused = on; }
  bool excused(std::size_t node) const { return servers_[node].excused; }
  /// Operators follow docs/operate/security.md: no node may be rejected unless one of the two is excused.
  bool orderly = true;
  /// All credentials that have been in force.
  known_credentials known;

  // ---- processes
  /// Reads configuration and keyring like a server that starts. @returns why it cannot start
  status start(std::size_t node, storage::file_system& data, std::shared_ptr<const simulated_clock> clock);
  void ended(std::size_t node);
  /// Its disk is lost, including the keyring.
  void wiped(std::size_t node);
  /// A bit of its disk is flipped. A keyring has no checksum (nor has Consul's).
  void damaged(std::size_t node);
  /// Carries out a request to its keyring_keeper. @pre it runs
  forward::keyring_answer operate(std::size_t node, const forward::keyring_operation& op);

  // ---- connections
  struct admission {
    bool in = false;
    bool encrypted = false;
    std::string why; ///< the reason of a rejection
  };
  /// @pre both run
  admission let_in(std::size_t dialler, std::size_t accepter, const wire::hello& hello);
  /// A peer connects that is not a node of this cluster and would accept any server.
  admission admit_unverified_peer(const credential_facts& his, std::size_t accepter, const wire::hello& hello);

  // ---- connections of client agents, with a handshake in steps (agent_connections)
  /// The credentials of all its connections from now on. @pre it runs
  std::shared_ptr<tls::credential_store> credentials_of(std::size_t node) { return servers_[node].store; }
  /// Call it before anything happens on that agent's connections: OpenSSL checks its clock.
  void before_dialling(std::size_t agent);
  /// @pre it runs
  tls::credentials_ptr demanded_by(std::size_t server);
  void check(const agent_connections::admission& real);

  /// Whether every possible content of its keyring file has exactly these keys, primary first.
  bool keyring_is(std::size_t node, const std::vector<std::string>& keys) const;
  /// Whether it has that key (dials_with_key(): as the primary) in every possible state of its
  /// keyring file.
  bool has_key(std::size_t node, const std::string& key) const;
  bool dials_with_key(std::size_t node, const std::string& key) const;
  std::uint64_t refusals() const { return refusals_; }
  /// Whether the last server that this client agent connected to has rejected it.
  bool keeps_out(std::size_t agent) const { return servers_[agent].kept_out; }
  /// Reports a failure found by another component.
  void complain(const char* checker, std::string text);
  /// The first broken rule: checker and text.
  const std::optional<std::pair<std::string, std::string>>& complaint() const { return complaint_; }

private:
  using keys = std::vector<std::string>;
  struct server {
    std::shared_ptr<const simulated_clock> clock;
    credential_facts configured;
    credential_facts in_force;
    /// All that was in force, with the time since when.
    std::vector<std::pair<virtual_time, credential_facts>> past;
    std::shared_ptr<tls::credential_store> store; ///< null: down
    std::unique_ptr<actors::reloader> reloads;    ///< null: down
    /// Possible contents of its keyring file; {}: no file. Several if a write's outcome is unknown.
    std::set<keys> keyring{keys{}};
    bool keyring_unknown = false;
    bool excused = false;
    bool kept_out = false; ///< a client agent whose last connection was rejected
  };

  actors::node_config config_of(std::size_t node);
  void take_over(std::size_t node);
  void now_in_force(std::size_t node, credential_facts f);
  std::vector<credential_facts> in_force_since(std::size_t node, virtual_time t) const;
  std::int64_t seconds_at(std::size_t node) const;
  admission checked(const std::string& who, admission real, const expected_admission& expected);

  const schedule& time_;
  event_trace& trace_;
  test_ca ca_;
  std::vector<server> servers_;
  std::uint64_t refusals_ = 0;
  std::optional<std::pair<std::string, std::string>> complaint_;
};

} // namespace belay::sim
