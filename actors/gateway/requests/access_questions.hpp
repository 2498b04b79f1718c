#pragma once
// Permissions that neither the state machine nor the agent asks for itself: of the agent, of operators, of archives,
// of sessions that are renewed (docs/contract/10, section 3). What a token may do is asked of this server's tables before the
// request is passed on. They may be a little behind the leader's: who is refused by them is asked for once more when they
// have all that was decided until then, so that a client can use at once what it has made at another server.

#include "actors/gateway/requests/agent_tokens.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <memory>
#include <string>

namespace belay::actors {

class access_questions {
public:
  /// @param out,pending outlive it
  /// @param node the name of this server's node
  access_questions(outbox& out, pending_requests& pending, answer_times times, std::string node,
                   std::shared_ptr<const agent_tokens> tokens);

  /// @returns true: the request may be passed on. Else it is answered, or will be after answered()
  bool begin(exchange& e, monotonic_time now);
  /// The tables have said what the token of `e` may do. @pre e.access.asked
  /// @returns true: the request is to be passed on
  bool answered(exchange& e, const read_result& r, monotonic_time now);
  /// The agent has answered. @returns true: that is the answer. Else the token is looked at again, because the answer has
  /// taken its time or is a refusal by tables that may be behind
  bool agent_answered(exchange& e, agent::reply& reply, monotonic_time now);

private:
  void ask(exchange& e, http::consistency mode, monotonic_time now);
  void judge_as_agent_master(exchange& e) const;
  bool refused(exchange& e, std::string text, monotonic_time now);
  bool granted(exchange& e, std::shared_ptr<const acl::authorizer> may) const;

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  std::string node_;
  std::shared_ptr<const agent_tokens> tokens_;
  /// Of acl.tokens.agent_master, as in Consul: its own agent, and to see every node.
  std::shared_ptr<const acl::authorizer> agent_master_may_;
};

} // namespace belay::actors
