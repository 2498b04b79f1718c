#pragma once
// Requests that wait or stream where no state machine judges them again: reads of the agent that wait for news, and the log as it comes.
// What their tokens may do is asked again when that may have changed. A server answers when a policy, a role or a token has changed, or
// when the token is over; a client agent has no tables and answers at once, so that it is asked now and then.

#include "actors/gateway/requests/agent_tokens.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::actors {

/// Of one request. It belongs to it, and nobody looks any more when it is gone.
struct access_watch {
  exchange* whose = nullptr;
  std::uint64_t known_index = 0; ///< of what was said last
  monotonic_time since;
};

class access_watches {
public:
  /// What is new of one request.
  struct news {
    exchange* whose = nullptr;                  ///< null: it was over before this came
    std::optional<std::string> refusal;         ///< why it must not go on; nullopt: it may
    std::shared_ptr<const acl::authorizer> may; ///< what its token may do now
  };

  /// @param out,pending outlive it
  /// @param pause between an answer and the next question
  access_watches(outbox& out, pending_requests& pending, std::shared_ptr<const agent_tokens> tokens,
                 std::chrono::nanoseconds pause)
      : out_(out), pending_(pending), tokens_(std::move(tokens)), pause_(pause) {}

  /// `e` was permitted and goes on: until e.access.watch is reset. @pre e.by
  void begin(exchange& e, monotonic_time now);
  /// @returns nullopt: it is the answer to another question
  std::optional<news> answered(const read_result& r, monotonic_time now);
  /// A few times a second. @returns those that the token agent_master had opened, and it is another one now
  std::vector<news> tick(monotonic_time now);

private:
  using weak_watch = std::weak_ptr<access_watch>;

  void ask(const std::shared_ptr<access_watch>& w, monotonic_time now);
  void forget_what_is_over();

  outbox& out_;
  pending_requests& pending_;
  std::shared_ptr<const agent_tokens> tokens_;
  std::chrono::nanoseconds pause_;
  std::multimap<monotonic_time, weak_watch> due_;
  std::unordered_map<request_id, weak_watch> asked_;
};

} // namespace belay::actors
