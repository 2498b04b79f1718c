#pragma once
// The ports for peers of all nodes, in runs in which servers have credentials: who is let in. The server's own code decides it, with real
// handshakes of TLS, and an independent model says what it should have decided. Beside that: what operators do to credentials.

#include "actors/node/reloader.hpp"
#include "sim/credentials/certificate_office.hpp"
#include "sim/credentials/credential_model.hpp"
#include "sim/world/agent_wires.hpp"
#include "sim/world/event_trace.hpp"
#include "sim/world/schedule.hpp"
#include "sim/world/simulated_clock.hpp"

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
  /// In its configuration file from now on; in force with the next start or reload. @pre one key at most
  void configure(std::size_t node, credential_facts f);
  const credential_facts& configured(std::size_t node) const { return servers_[node].configured; }
  /// As by SIGHUP. @pre it runs
  void reload(std::size_t node);
  /// By hand: these are in its keyring file from now on, also if there is none yet. @returns whether there was room
  bool write_keyring(std::size_t node, storage::file_system& data, const std::vector<std::string>& keys);
  /// Its disk, or its keyring, is not what others think it is: that it is refused is no surprise.
  void excuse(std::size_t node, bool on) { servers_[node].excused = on; }
  bool excused(std::size_t node) const { return servers_[node].excused; }
  /// Credentials are changed as docs/security.md says: of the nodes nobody is refused that is not excused.
  bool orderly = true;
  /// What has been in force.
  known_credentials known;

  // ---- processes
  /// Reads configuration and keyring as a server that starts. @returns why it cannot start
  status start(std::size_t node, storage::file_system& data, std::shared_ptr<const simulated_clock> clock);
  void ended(std::size_t node);
  /// Its disk is lost: with the keyring.
  void wiped(std::size_t node);
  /// A bit of its disk is flipped: a keyring has no checksum, as Consul's has none.
  void damaged(std::size_t node);
  /// What its keyring_keeper is asked for. @pre it runs
  forward::keyring_answer operate(std::size_t node, const forward::keyring_operation& op);

  // ---- connections
  struct admission {
    bool in = false;
    bool encrypted = false;
    std::string why; ///< it is refused
  };
  /// @pre both run
  admission let_in(std::size_t dialler, std::size_t accepter, const wire::hello& hello);
  /// Somebody dials who is no node of this cluster, and would talk to anybody.
  admission let_in_stranger(const credential_facts& his, std::size_t accepter, const wire::hello& hello);

  // ---- connections of client agents, with a handshake in steps (agent_wires)
  /// Whose connections are these from now on. @pre it runs
  std::shared_ptr<tls::credential_store> credentials_of(std::size_t node) { return servers_[node].store; }
  /// Call it before anything happens on that agent's way to the servers: OpenSSL looks at its clock.
  void before_dialling(std::size_t agent);
  /// @pre it runs
  tls::credentials_ptr demanded_by(std::size_t server);
  void judge(const agent_wires::admission& real);

  /// Whatever may be in its keyring file: it has exactly these keys, and dials with the first one.
  bool keyring_is(std::size_t node, const std::vector<std::string>& keys) const;
  /// Whatever may be in its keyring file: that key is there; it is the first one.
  bool knows_key(std::size_t node, const std::string& key) const;
  bool dials_with_key(std::size_t node, const std::string& key) const;
  std::uint64_t refusals() const { return refusals_; }
  /// The last server that this client agent has dialled has refused it.
  bool keeps_out(std::size_t agent) const { return servers_[agent].kept_out; }
  /// Of others who know what credentials must be.
  void complain(const char* checker, std::string text);
  /// The first broken rule: checker and text.
  const std::optional<std::pair<std::string, std::string>>& complaint() const { return complaint_; }

private:
  using keys = std::vector<std::string>;
  struct server {
    std::shared_ptr<const simulated_clock> clock;
    credential_facts configured;
    credential_facts in_force;
    /// All that was in force, since when.
    std::vector<std::pair<virtual_time, credential_facts>> past;
    std::shared_ptr<tls::credential_store> store; ///< null: down
    std::unique_ptr<actors::reloader> reloads;    ///< null: down
    /// What may be in its keyring file, {} being: there is none. More than one: a write may have been done or not.
    std::set<keys> keyring{keys{}};
    bool keyring_unknown = false;
    bool excused = false;
    bool kept_out = false; ///< a client agent that was refused last
  };

  actors::node_config config_of(std::size_t node);
  void take_over(std::size_t node);
  void now_in_force(std::size_t node, credential_facts f);
  std::vector<credential_facts> in_force_since(std::size_t node, virtual_time t) const;
  std::int64_t seconds_at(std::size_t node) const;
  admission judged(const std::string& who, admission real, const expected_admission& expected);

  const schedule& time_;
  event_trace& trace_;
  certificate_office office_;
  std::vector<server> servers_;
  std::uint64_t refusals_ = 0;
  std::optional<std::pair<std::string, std::string>> complaint_;
};

} // namespace belay::sim
