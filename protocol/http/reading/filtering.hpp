#pragma once
// `?filter`: which rows of a result a client receives (docs/contract/07, docs/http-extensions.md).
// It applies when the response is rendered, so indexes and blocking ignore it.

#include "protocol/agent/requests.hpp"
#include "protocol/filter/row_filter.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/render.hpp"

namespace belay::http {

/// Selectors for the rows of such a result; empty: `?filter` is ignored.
filter::fields filter_fields(const state::query& q);
filter::fields filter_fields(const agent::request& r);

/// The read with the filter in its options, or an error response.
action filtered_read(request_context& c, state::query q, const query_options& o);
/// The same for requests to the agent.
refused read_filter(request_context& c, const agent::request& r);

/// The response to the read: the rows of the result that match the filter in the options.
response answer_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options);

/// Removes the rows that do not match the filter. @pre the filter is for this query
/// @returns false: the cost exceeds filter::filter_work_max; respond with filter_too_costly()
[[nodiscard]] bool leave_out(const filter::row_filter& f, const state::query& q, state::query_result& result);
[[nodiscard]] bool leave_out(const filter::row_filter& f, agent::reply& reply);
/// 413 that names the limit.
response filter_too_costly();

} // namespace belay::http
