#pragma once
// Whose the secrets are that requests bring: asked of the tables of this server, for the audit log.

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace belay::actors {

/// Of a token; its secret is not part of it.
struct token_owner {
  std::string accessor; ///< empty: this server knows no such token
  std::string description;
  std::int64_t created_ns = 0;
};

class token_owners {
public:
  using told = std::function<void(const token_owner&)>;
  using told_whether = std::function<void(bool)>;

  /// @param out,pending outlive it
  token_owners(outbox& out, pending_requests& pending) : out_(out), pending_(pending) {}

  /// Calls `then`, at once if it was asked a moment ago.
  void ask(const state::authority& by, monotonic_time now, told then);
  /// Whether this server knows a token with that accessor.
  void ask_for_accessor(const std::string& accessor, monotonic_time now, told_whether then);
  /// @returns false: it is the answer to another question
  bool answered(const read_result& r, monotonic_time now);
  /// A few times a second: forgets what may be out of date. Who gets no answer is told an empty one.
  void tick(monotonic_time now);
  /// All who wait are told an empty one, or that there is none.
  void close();

private:
  void give_up(monotonic_time asked_before);
  /// No longer asked about.
  void forget(request_id id, const std::string& secret);

  struct known {
    std::string secret;
    token_owner owner;
    monotonic_time since;
  };
  struct question {
    std::string secret;
    monotonic_time since;
    std::vector<told> waiting;
  };

  struct accessor_question {
    monotonic_time since;
    told_whether then;
  };

  outbox& out_;
  pending_requests& pending_;
  std::unordered_map<request_id, accessor_question> accessors_;
  // By a hash of the secret, so that how long it takes to look one up tells nothing of those that are there. Of two with one hash
  // one is remembered: who asks for the other one asks the tables.
  std::unordered_map<std::uint64_t, known> known_;
  std::unordered_map<request_id, question> asked_;
  std::unordered_map<std::uint64_t, request_id> asked_by_secret_;
};

} // namespace belay::actors
