#pragma once
// Compares reads of claims, guards and ended sessions with the model (docs/reference/claims.md).

#include "sim/checkers/kv_model.hpp"

namespace belay::sim {

/// Whether it is a query for claims, guards or ended sessions that is checked.
bool is_about_claims(const state::query& q);
/// The cause of a session's end.
/// @param right as in modelled_session_end
bool is_cause(std::string_view received, std::string_view right);
/// Whether the response was right as of log index s. @pre is_about_claims(q)
bool shows_claims(const kv_model& model, const state::query& q, const state::query_result& a, log_index s);

} // namespace belay::sim
