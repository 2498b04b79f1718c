#pragma once
// The record of one client operation for the checkers: the request, its time and node, the
// response, and what was committed by then.

#include "protocol/http/request.hpp"
#include "protocol/state/machine.hpp"
#include "sim/run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// The three outcomes of a request (docs/internals/architecture.md, "A write"), and none yet.
enum class outcome : std::uint8_t { pending, done, refused, unknown };
const char* name_of(outcome o);

struct session_renewal {
  std::string session;
  std::optional<state::auth_context> by = {}; ///< nullopt: ACLs are not in force
  std::vector<std::string> beside = {};       ///< sessions that never existed, renewed by the same request
};

struct operation {
  std::uint64_t id = 0; ///< in order of invocation, from 1
  std::size_t client = 0;
  std::size_t node = 0;       ///< that received the request
  int node_life = 0;          ///< which start of that node
  bool through_agent = false; ///< that node is a client agent: the responding server is unknown
  virtual_time invoked{0}, returned{0};

  /// Exactly one of the three.
  std::optional<state::command> write;
  std::optional<http::read_request> read;
  std::optional<session_renewal> renewal;
  virtual_time lock_wait{0}; ///< how long the server may delay an acquire until the end of a lock delay

  outcome result = outcome::pending;
  state::reply reply;                        ///< reply to a completed write
  log_index index;                           ///< log entry of a completed write; zero: answered without one
  std::optional<state::query_result> answer; ///< answer to a completed read
  state::session_ptr renewed;                ///< result of a completed renewal; null: there is no such session
  std::string text;                          ///< text of a rejected or unknown operation

  // ---- facts that only the simulator knows
  /// Some client was sent everything up to here (as a write that is done, or in a linearizable
  /// read) before this operation was invoked.
  log_index known_at_invocation;
  log_index committed_at_return; ///< committed anywhere by then
};

/// The token of the request. nullopt: ACLs are not in force.
inline const std::optional<state::auth_context>& asker_of(const operation& o) {
  return o.write ? o.write->by : o.read ? o.read->query.by : o.renewal->by;
}

} // namespace belay::sim
