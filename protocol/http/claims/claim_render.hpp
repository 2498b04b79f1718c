#pragma once
// Renders results about claims, write guards and ended sessions (docs/reference/claims.md).

#include "protocol/http/render.hpp"

namespace belay::http {

/// Results of queries. Status 404 without a body: it does not exist.
response render_claims(const state::claim_view& view, const render_options& options);
response render_claims(const state::claim_rows& page, const render_options& options);
response render_claims(const state::wait_graph& graph, const render_options& options);
response render_claims(const state::guard_rows& guards, const render_options& options);
response render_claims(const state::ended_session_rows& ended, const render_options& options);

/// A claim that is held or waits. `ttl_ms`: as in read_meta.
response render_claim(const state::claim_answer& a, const render_options& options, std::uint64_t ttl_ms);
response render_claim_refusal(const state::claim_refusal& no);

/// The final response to a waiting claim or queued acquire, whose command replied `waiting` before.
/// @pre for an acquire, not `live` with claim_state::waiting: it still waits
response render_wait(const state::command& requested, const state::claim_standing& s, const render_options& options,
                     std::uint64_t ttl_ms);

} // namespace belay::http
