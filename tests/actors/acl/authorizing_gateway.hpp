#pragma once
// A gateway with ACLs, and tables of policies and tokens that decide about permissions.

#include "protocol/base/uuid.hpp"
#include "tests/actors/gateway/http_gateway_fixture.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <string>

namespace belay::actors::testing {

inline const std::string root = "root-secret", emergency = "emergency-secret";

/// Secrets are UUIDs, except those in the configuration; here tokens have names.
inline std::string secret_of(const std::string& name) {
  const bool as_it_is = name.empty() || name == root || name == emergency || name == "wrong" || name == "nobody's";
  return as_it_is ? name : uuid_of(std::hash<std::string>()(name), 42);
}

using rules_by_name = std::map<std::string, std::string>;

/// Tables with a token for each set of rules; the name of the rules is the secret.
struct tables {
  state::machine machine;
  std::uint64_t index = 0;

  explicit tables(const rules_by_name& tokens) {
    apply(state::acl_initialize{root, uuid_of(1, 1), 1});
    for (const auto& [name, rules] : tokens)
      add(secret_of(name), rules);
  }
  void apply(const state::command& c) {
    state::effects changed;
    ++index;
    const auto reply = machine.apply(log_index{index}, cluster_time{1000 + index}, c, changed);
    const auto* no = std::get_if<state::refusal>(&reply);
    INFO((no == nullptr ? std::string() : no->text));
    REQUIRE(no == nullptr);
  }
  void add(const std::string& secret, const std::string& rules) {
    state::acl_policy_set p;
    p.policy.id = uuid_of(2, index);
    p.policy.name = "p" + std::to_string(index);
    p.policy.rules = rules;
    p.fresh = true;
    state::acl_token_set t;
    t.token.accessor = uuid_of(3, index);
    t.token.secret = secret;
    t.policies = {{p.policy.id, ""}};
    t.fresh = true;
    apply(p);
    apply(t);
  }
  /// Adds a policy and a token with these IDs.
  void add_ids(const std::string& id) {
    state::acl_policy_set p;
    p.policy.id = p.policy.name = id;
    p.fresh = true;
    state::acl_token_set t;
    t.token.accessor = id;
    t.token.secret = uuid_of(4, index);
    t.fresh = true;
    apply(p);
    apply(t);
  }
  state::acl_token_ptr token_of(const std::string& name) const {
    state::query q = state::acl_token_self{};
    q.by = state::auth_context{secret_of(name), false, "dc1"};
    const auto found = machine.evaluate(q);
    return std::get<state::acl_token_ptr>(std::get<state::acl_rows>(found.data).list.at(0).row);
  }
  void remove(const std::string& name) { apply(state::acl_token_delete{token_of(name)->accessor}); }
  /// Sets the rules of the one policy of that token.
  void set_rules(const std::string& name, const std::string& rules) {
    state::acl_policy_set p;
    p.policy.id = token_of(name)->policies.at(0);
    p.policy.name = "changed" + std::to_string(index);
    p.policy.rules = rules;
    apply(p);
  }
};

inline gateway_settings with_acls() {
  gateway_settings s;
  s.routes.node_name = "n1";
  s.facts.node_name = "n1";
  s.facts.acl_enabled = true;
  s.routes.acl_enabled = true;
  s.routes.acl_allowed_by_default = false;
  agent_token_values tokens;
  tokens.agent_master = emergency;
  s.tokens = std::make_shared<agent_tokens>(tokens);
  return s;
}

/// Permissions come from the tables; other queries are answered as if everything were permitted.
inline void authorize_by(gateway_fixture& f, tables& t) {
  f.behind().answer = [&t](const state::query& q) {
    if (std::holds_alternative<state::permissions_read>(q))
      return t.machine.evaluate(q);
    auto everything = q;
    everything.by = state::auth_context{root, false, "dc1"};
    return t.machine.evaluate(everything);
  };
}

inline std::string request(const std::string& method, const std::string& target, const std::string& token,
                           const std::string& body = "") {
  return method + " " + target + " HTTP/1.1\r\nHost: x\r\n" +
         (token.empty() ? "" : "X-Consul-Token: " + secret_of(token) + "\r\n") +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline status_result cluster_of_two() {
  status_result s;
  const raft::member m{node_id{1}, "11111111-2222-3333-4444-555555555555", "n1", "127.0.0.1:8300"};
  const raft::member other{node_id{2}, "11111111-2222-3333-4444-555555555556", "n2", "127.0.0.2:8300"};
  s.view.config.members = {m, other};
  s.view.config.voters = {m.id};
  s.view.self = m.id;
  s.view.soft.leader = m.id;
  s.view.soft.role = raft::role::leader;
  s.view.serving = true;
  s.peers = {{m, true, false, true, {}}, {other, true, false, true, {}}};
  return s;
}

} // namespace belay::actors::testing
