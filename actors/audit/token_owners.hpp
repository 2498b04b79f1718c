#pragma once
// Finds the owners of tokens in this server's tables, for the audit log.

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::actors {

/// Describes a token without its secret.
struct token_owner {
  std::string accessor; ///< empty: this server has no such token
  std::string description;
  std::int64_t created_ns = 0;
};

class token_owners {
public:
  using owner_found = std::function<void(const token_owner&)>;
  using received_whether = std::function<void(bool)>;

  /// @param out,pending must outlive this object
  token_owners(outbox& out, pending_requests& pending) : out_(out), pending_(pending) {}

  /// Calls `then`, at once if the result was read a moment ago.
  void ask(const state::auth_context& by, monotonic_time now, owner_found then);
  /// Whether this server has a token with that accessor.
  void ask_for_accessor(const std::string& accessor, monotonic_time now, received_whether then);
  /// @returns false: it is the response to another query
  bool answered(const read_result& r, monotonic_time now);
  /// Call it regularly: drops old results. Queries without response get an empty result.
  void tick(monotonic_time now);
  /// All pending queries get an empty result, or false.
  void close();

private:
  void give_up(monotonic_time requested_before);
  /// Drops a pending query.
  void forget(request_id id, const std::string& secret);

  struct known {
    std::string secret;
    token_owner owner;
    monotonic_time since;
  };
  struct question {
    std::string secret;
    monotonic_time since;
    std::vector<owner_found> waiting;
  };

  struct accessor_question {
    monotonic_time since;
    received_whether then;
  };

  outbox& out_;
  pending_requests& pending_;
  std::unordered_map<request_id, accessor_question> accessors_;
  // Keyed by a hash of the secret, so that the time of a lookup reveals nothing about existing
  // ones. Of two with the same hash one is cached: the other one is read from the tables.
  std::unordered_map<std::uint64_t, known> known_;
  std::unordered_map<request_id, question> requested_;
  std::unordered_map<std::uint64_t, request_id> requested_by_secret_;
};

} // namespace belay::actors
