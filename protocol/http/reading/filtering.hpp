#pragma once
// `?filter`: which rows of a result a client receives (docs/contract/07, docs/reference/http-extensions.md).
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

/// Selects the rows that match a filter, in slices between which others are served.
class row_sieve {
public:
  /// @pre the filter was compiled for this query
  row_sieve(std::shared_ptr<const filter::row_filter> f, const state::query& q,
            std::shared_ptr<const state::query_result> all);

  /// Examines `bytes` more (filter_work.hpp). @returns true: all rows were examined, or the filter
  /// exceeded its limit
  bool go_on(std::size_t bytes);
  /// The matching rows. Call it once. @pre go_on() returned true
  /// @returns null: it exceeded filter::filter_work_max; respond with filter_too_costly()
  std::shared_ptr<const state::query_result> take();

private:
  std::shared_ptr<const filter::row_filter> filter_;
  std::shared_ptr<const state::query_result> all_;
  state::query_result kept_;
  filter::filter_work work_;
  std::size_t next_ = 0;
};

/// Removes the rows of an agent's reply that do not match.
/// @returns false: it exceeded filter::agent_filter_work_max; respond with filter_too_costly()
[[nodiscard]] bool leave_out(const filter::row_filter& f, agent::reply& reply);
/// A 413 that names the limit.
response filter_too_costly(std::size_t bytes_max = filter::filter_work_max);

} // namespace belay::http
