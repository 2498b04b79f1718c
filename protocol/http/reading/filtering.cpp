#include "protocol/http/reading/filtering.hpp"

namespace belay::http {

namespace {

/// The error is the whole text of the response.
status compile_filter(request_context& c, filter::fields of) {
  const auto text = c.query.get("filter");
  if (text.empty() || of.empty())
    return done{};
  auto f = filter::row_filter::compile(text, of);
  if (!f)
    return failure{"Failed to create boolean expression evaluator: " + f.error()};
  c.options.filter = std::make_shared<const filter::row_filter>(std::move(f).value());
  return done{};
}

bool is_own_extension(const state::query& q) {
  return std::holds_alternative<state::session_list>(q) || std::holds_alternative<state::kv_list>(q);
}

/// The list of rows in an answer that can be filtered; null: it has none.
template <class Found>
auto* rows_in(Found& found) {
  if constexpr (requires { found.entries; })
    return &found.entries;
  else if constexpr (requires { found.services; })
    return &found.services;
  else
    return &found.list;
}

template <class Found, class... Lists>
constexpr bool is_any = (std::is_same_v<Found, Lists> || ...);
template <class Found>
constexpr bool is_filtered = is_any<Found, state::kv_entries, state::sessions, state::nodes, state::service_instances,
                                    state::node_services, state::checks, agent::service_rows, agent::check_rows>;

template <class Row>
bool accepts(const filter::row_filter& f, const Row& row, filter::filter_work& work) {
  if constexpr (state::record_pointer<Row>) {
    const auto& record = state::record_of(row);
    return f.accepts(&record, work);
  } else {
    return f.accepts(&row, work);
  }
}

} // namespace

action filtered_read(request_context& c, state::query q, const query_options& o) {
  if (auto ok = compile_filter(c, filter_fields(q)); !ok) {
    // docs/contract/07: Consul's status is 500. Where Consul does not filter, use 400.
    if (is_own_extension(q))
      return error_response(400, ok.error());
    return with_unknown_meta(error_response(500, ok.error()));
  }
  return make_read(std::move(q), o);
}

refused read_filter(request_context& c, const agent::request& r) {
  if (auto ok = compile_filter(c, filter_fields(r)); !ok)
    return error_response(500, ok.error());
  return std::nullopt;
}

response answer_read(const read_request& request, const state::query_result& result, const read_meta& meta,
                     const render_options& options) {
  if (!options.filter)
    return render_read(request, result, meta, options);
  row_sieve sieve(options.filter, request.query, {std::shared_ptr<void>(), &result});
  sieve.go_on(SIZE_MAX);
  const auto kept = sieve.take();
  return kept == nullptr ? filter_too_costly() : render_read(request, *kept, meta, options);
}

row_sieve::row_sieve(std::shared_ptr<const filter::row_filter> f, const state::query& q,
                     std::shared_ptr<const state::query_result> all)
    : filter_(std::move(f)), all_(std::move(all)) {
  PRECONDITION(filter_->bound_to().data() == filter_fields(q).data());
  kept_.index = all_->index;
  const auto begin = [&]<class Found>(const Found& found) {
    if constexpr (std::is_same_v<Found, state::node_services>)
      kept_.data = state::node_services{found.node, {}, found.some_hidden};
    else if constexpr (is_filtered<Found>)
      kept_.data = Found{};
  };
  std::visit(begin, all_->data);
}

bool row_sieve::go_on(std::size_t bytes) {
  work_.begin_slice(bytes);
  const auto sift = [&]<class Found>(const Found& found) {
    if constexpr (is_filtered<Found>) {
      const auto& rows = *rows_in(found);
      auto& kept = *rows_in(std::get<Found>(kept_.data));
      for (; next_ < rows.size(); ++next_) {
        const bool yes = accepts(*filter_, rows[next_], work_);
        if (work_.exceeded() || work_.paused())
          return work_.exceeded();
        if (yes)
          kept.push_back(rows[next_]);
      }
    }
    return true;
  };
  return std::visit(sift, all_->data);
}

std::shared_ptr<const state::query_result> row_sieve::take() {
  if (work_.exceeded())
    return nullptr;
  const auto is_list = []<class Found>(const Found&) { return is_filtered<Found>; };
  return std::visit(is_list, all_->data) ? std::make_shared<const state::query_result>(std::move(kept_))
                                         : std::move(all_);
}

bool leave_out(const filter::row_filter& f, agent::reply& reply) {
  filter::filter_work work(filter::agent_filter_work_max);
  const auto leave = [&]<class Found>(Found& found) {
    if constexpr (is_filtered<Found>)
      std::erase_if(*rows_in(found), [&](const auto& row) { return !accepts(f, row, work); });
  };
  std::visit(leave, reply);
  return !work.exceeded();
}

response filter_too_costly(std::size_t bytes_max) {
  return error_response(413, "The filter examines more than " + std::to_string(bytes_max) +
                                 " bytes of these rows: use fewer comparisons, or request fewer rows");
}

} // namespace belay::http
