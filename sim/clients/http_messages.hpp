#pragma once
// Encodes operations as HTTP requests of simulated clients, and decodes responses as a client
// library does, by status, headers and body (docs/contract/03 to 07, docs/reference/http-extensions.md).

#include "protocol/forward/requests.hpp"
#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::sim {

/// Removes from a command what a request cannot express, so that servers must make the same
/// command.
void as_requested(state::command& c);

/// @pre as_requested() has processed its command; it is about keys, sessions or the catalog
std::string request_of(const operation& o);
/// The id that the gateway must give to what is created; empty: nothing is.
std::string wished_id(const operation& o);

struct http_answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers; ///< as received
  std::string body;
  /// nullptr: there is none.
  const std::string* header(std::string_view name) const;
};
/// @param ended the connection was closed after these bytes
/// @returns nullopt: the response is incomplete
std::optional<http_answer> whole_answer(std::string_view bytes, bool ended);

/// The gateway's information on a write, which a 500 response leaves open.
struct write_decision {
  forward::call_outcome outcome = forward::call_outcome::unknown;
  log_index index;
};

/// The decision as far as a client agent's response shows it: the decision may be lost on the way
/// to the agent, or never made.
std::optional<write_decision> as_received_from_agent(const http_answer& a,
                                                     const std::optional<write_decision>& decided);

/// Fills in what the client learns.
/// @param decided nullopt: the gateway responded by itself
/// @returns why the response is wrong for such a request, or contradicts the decision
broken understand(const http_answer& a, const std::optional<write_decision>& decided, operation& o);

} // namespace belay::sim
