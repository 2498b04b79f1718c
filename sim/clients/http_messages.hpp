#pragma once
// What simulated clients say to a gateway and hear from it: operations as HTTP requests, and answers understood as a client
// library does it, by status, headers and body (docs/contract/03 to 07, docs/http-extensions.md).

#include "protocol/forward/requests.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::sim {

/// Leaves in a command only what a request can say, so that the servers must make the same command of the request.
void as_requests_say(state::command& c);

/// @pre its command went through as_requests_say(), and is one of keys, transactions of keys, sessions, catalog
std::string request_of(const operation& o);
/// The id that the gateway has to give to what is made; empty: none is made.
std::string wished_id(const operation& o);

struct http_answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers; ///< as they came
  std::string body;
  /// nullptr: there is none.
  const std::string* header(std::string_view name) const;
};
/// @param ended the connection was closed behind these bytes
/// @returns nullopt: that is not all of it
std::optional<http_answer> whole_answer(std::string_view bytes, bool ended);

/// What the gateway was told about a write by those who decide it: what an answer of 500 leaves open.
struct write_decision {
  forward::call_outcome outcome = forward::call_outcome::unknown;
  log_index index;
};

/// What a client agent's answer leaves of the decision: that may be lost between the server and the agent, or nobody was asked.
std::optional<write_decision> as_told_by_agent(const http_answer& a, const std::optional<write_decision>& decided);

/// Fills in what the client learns.
/// @param decided nullopt: the gateway answered by itself
/// @returns what no such request may be answered, or what does not fit to the decision
broken understand(const http_answer& a, const std::optional<write_decision>& decided, operation& o);

} // namespace belay::sim
