#pragma once
// Renders outcomes of writes with an Idempotency-Key, and counters (docs/reference/exactly-once.md).

#include "protocol/http/request.hpp"

namespace belay::http {

/// The outcome of a write, with its `decided_at`; monostate: it was cancelled.
response render_outcome(const state::reply& stored_reply, const render_options& options);
response render_once_refusal(const state::once_refusal& no);
response render_sum(const state::kv_added& sum, log_index index, const render_options& options);

} // namespace belay::http
