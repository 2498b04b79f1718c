#pragma once
// Answers about claims, guards and sessions that have ended (docs/http-extensions.md).

#include "protocol/http/render.hpp"

namespace belay::http {

/// What is read of them. An empty status 404: there is no such thing.
response render_claims(const state::claim_view& view, const render_options& options);
response render_claims(const state::claim_rows& page, const render_options& options);
response render_claims(const state::wait_graph& graph, const render_options& options);
response render_claims(const state::guard_rows& guards, const render_options& options);
response render_claims(const state::ended_session_rows& ended, const render_options& options);

/// A claim that is held or waits. `ttl_ms`: as in read_meta.
response render_claim(const state::claim_answer& a, const render_options& options, std::uint64_t ttl_ms);
response render_claim_refusal(const state::claim_refusal& no);

/// What became of a claim, or of a queued acquire, for whoever has waited: how it stands is known later than its command was answered.
/// @pre not `live` with claim_state::waiting, if the command is an acquire: that one is still waited for
response render_wait(const state::command& asked, const state::claim_standing& s, const render_options& options,
                     std::uint64_t ttl_ms);

} // namespace belay::http
