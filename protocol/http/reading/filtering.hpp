#pragma once
// `?filter`: which rows of an answer a client wants to see (docs/contract/07, docs/http-extensions.md). Rows are left out
// when the answer is written, so that indexes and blocking do not know of it.

#include "protocol/agent/requests.hpp"
#include "protocol/filter/row_filter.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/render.hpp"

namespace belay::http {

/// What can be selected in the rows of such an answer; empty: `?filter` is ignored there.
filter::fields filter_fields(const state::query& q);
filter::fields filter_fields(const agent::request& r);

/// The read, whose filter goes into the request's options; or what is wrong with the filter.
action filtered_read(request_context& c, state::query q, const query_options& o);
/// The same for what the agent is asked.
refused read_filter(request_context& c, const agent::request& r);

/// The answer to the read: those rows of the result that the filter in the options lets through.
response answer_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options);

/// Leaves only the rows that the filter lets through. @pre it was made for this query
/// @returns false: that costs more than filter::filter_work_max, and the answer is filter_too_costly()
[[nodiscard]] bool leave_out(const filter::row_filter& f, const state::query& q, state::query_result& result);
[[nodiscard]] bool leave_out(const filter::row_filter& f, agent::reply& reply);
/// 413 that names the bound.
response filter_too_costly();

} // namespace belay::http
