#pragma once
// Checks permissions that neither the state machine nor the agent checks: for the agent, operators,
// archives, renewals of sessions (docs/contract/10, section 3). It asks this server's tables
// before the request is sent on. They may lag behind the leader's, so a rejected request is checked
// again when they have caught up. So clients can use a token at once that they created elsewhere.

#include "actors/gateway/requests/agent_tokens.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <memory>
#include <string>

namespace belay::actors {

class access_questions {
public:
  /// @param out,pending must outlive this object
  /// @param node the name of this server's node
  access_questions(outbox& out, pending_requests& pending, answer_times times, std::string node,
                   std::shared_ptr<const agent_tokens> tokens);

  /// @returns true: send the request on. Otherwise it is answered, now or after answered()
  bool begin(exchange& e, monotonic_time now);
  /// The tables have returned the permissions of the token of `e`. @pre e.access.asked
  /// @returns true: send the request on
  bool answered(exchange& e, const read_result& r, monotonic_time now);
  /// The agent has responded. @returns true: that is the answer. Otherwise the token is checked
  /// again, because the response took time, or is a rejection by tables that may be stale
  bool agent_answered(exchange& e, agent::reply& reply, monotonic_time now);

private:
  void ask(exchange& e, http::consistency mode, monotonic_time now);
  void authorize_as_agent_master(exchange& e) const;
  bool refused(exchange& e, std::string text, monotonic_time now);
  bool granted(exchange& e, std::shared_ptr<const acl::authorizer> may) const;

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  std::string node_;
  std::shared_ptr<const agent_tokens> tokens_;
  /// Permissions of acl.tokens.agent_master, as in Consul: its own agent, and reading all nodes.
  std::shared_ptr<const acl::authorizer> agent_master_may_;
};

} // namespace belay::actors
