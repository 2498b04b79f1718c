#pragma once
// Proxies of the servers' fsm and raft_peer on a client agent, which has no tables and no log.
// They send requests to the servers, over HTTP, with the agent's own tokens.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/relay/request_relay.hpp"
#include "protocol/acl/authorizer.hpp"
#include "protocol/http/acl/token_rules.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace belay::actors {

/// Tokens that the agent uses for its rows. Empty: anonymous
struct agent_secrets {
  std::string of_node; ///< token for its node's row: acl.tokens.agent, or the default one
  /// Token for services and checks registered without one: acl.tokens.default, or the agent's.
  std::string of_services;
};

/// Replaces the fsm for health_checks: reads and writes rows of this node.
class remote_tables final : public hosted<fsm_actor::base> {
public:
  /// @param relay must outlive the last message to it; used on the thread of `host` only
  remote_tables(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, request_relay& relay,
                std::function<agent_secrets()> secrets);
  ~remote_tables() override;

  behavior_type make_behavior() override;

private:
  class question;
  struct known_rules;

  void write(const check_write& w);
  void deregister(std::string body, const std::string& secret, const std::string& of_node,
                  std::function<void(int, std::string)> then);
  void read(const read_query& q);
  void written(request_id id, int status, std::string body);
  void read_permissions(const read_query& q);
  void rules_received(const std::string& secret, int status, const std::string& body);
  void send_permissions(const read_query& q, known_rules& known);
  void answer(const read_query& q, std::variant<state::query_result, failure> what);
  void found(const read_query& q, int status, const std::string& body);
  void ask(std::string method, std::string target, std::string body, std::string secret,
           std::function<void(int, std::string)> then, relay_lane lane = relay_lane::rows);

  node_actors_ptr node_actors_;
  request_relay& relay_;
  std::function<agent_secrets()> secrets_;
  /// Rules of a token; refreshed when old, and kept if no server responds (`extend-cache`).
  struct known_rules {
    http::token_rules rules;
    std::shared_ptr<const acl::authorizer> compiled; ///< with the default policy of its first query
    bool allowed_by_default = false;
    monotonic_time since;
  };
  std::map<std::string, known_rules> known_;
  std::map<std::string, std::vector<read_query>> waiting_for_rules_; ///< by secret

  std::uint64_t requested_ = 0;
  std::map<std::uint64_t, std::unique_ptr<question>> questions_;
};

/// Replaces raft_peer for the gateway: status of the cluster.
class remote_consensus final : public hosted<raft_peer_actor::base> {
public:
  /// @see server_relay::join
  using joiner = std::function<void(const std::string& address, std::function<void(std::string)> then)>;

  remote_consensus(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, raft::member self,
                   std::function<bool()> cluster_answers, joiner join);

  behavior_type make_behavior() override;

  /// The view that the gateway and the agent receive.
  static cluster_view view_of(const raft::member& self, bool cluster_answers);

private:
  void join(const status_request& r);
  void respond(const status_request& r);

  node_actors_ptr node_actors_;
  raft::member self_;
  std::function<bool()> cluster_answers_;
  joiner join_;
};

} // namespace belay::actors
