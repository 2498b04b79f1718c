#pragma once
// Requests that wait or stream where no state machine rechecks them: blocking reads of the agent,
// log streams. The permissions of their tokens are read again when they may have changed. A server
// responds when a policy, role or token changes or expires; a client agent requests them regularly.

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

/// Belongs to its request; when it is destroyed the checks end.
struct access_watch {
  exchange* whose = nullptr;
  std::uint64_t known_index = 0; ///< index of the last response
  monotonic_time since;
};

class access_watches {
public:
  /// New permissions of one request.
  struct news {
    exchange* whose = nullptr;                  ///< null: it ended before
    std::optional<std::string> refusal;         ///< why it must end; nullopt: it may continue
    std::shared_ptr<const acl::authorizer> may; ///< permissions of its token now
  };

  /// @param out,pending must outlive this object
  /// @param pause between a response and the next check
  access_watches(outbox& out, pending_requests& pending, std::shared_ptr<const agent_tokens> tokens,
                 std::chrono::nanoseconds pause)
      : out_(out), pending_(pending), tokens_(std::move(tokens)), pause_(pause) {}

  /// Watches `e`, which was permitted, until e.access.watch is reset. @pre e.by
  void begin(exchange& e, monotonic_time now);
  /// @returns nullopt: it is the response to another query
  std::optional<news> answered(const read_result& r, monotonic_time now);
  /// Call it regularly. @returns requests permitted by agent_master, if that token has changed
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
  std::unordered_map<request_id, weak_watch> requested_;
};

} // namespace belay::actors
