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

struct rows_of_result {
  const filter::row_filter& accepted;
  filter::filter_work& work;

  template <state::record_pointer Pointer>
  void operator()(std::vector<Pointer>& list) const {
    std::erase_if(list, [&](const auto& row) {
      const auto& record = state::record_of(row);
      return !accepted.accepts(&record, work);
    });
  }
  void operator()(std::vector<state::service_instance>& list) const {
    std::erase_if(list, [&](const auto& row) { return !accepted.accepts(&row, work); });
  }

  void operator()(state::kv_entries& found) const { (*this)(found.entries); }
  void operator()(state::sessions& found) const { (*this)(found.list); }
  void operator()(state::nodes& found) const { (*this)(found.list); }
  void operator()(state::service_instances& found) const { (*this)(found.list); }
  void operator()(state::node_services& found) const { (*this)(found.services); }
  void operator()(state::checks& found) const { (*this)(found.list); }
  void operator()(agent::service_rows& found) const { (*this)(found.list); }
  void operator()(agent::check_rows& found) const { (*this)(found.list); }
  template <class Other>
  void operator()(Other&) const {}
};

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
  auto kept = result;
  if (!leave_out(*options.filter, request.query, kept))
    return filter_too_costly();
  return render_read(request, kept, meta, options);
}

bool leave_out(const filter::row_filter& f, const state::query& q, state::query_result& result) {
  PRECONDITION(f.bound_to().data() == filter_fields(q).data());
  filter::filter_work work;
  std::visit(rows_of_result{f, work}, result.data);
  return !work.exceeded();
}

bool leave_out(const filter::row_filter& f, agent::reply& reply) {
  filter::filter_work work;
  std::visit(rows_of_result{f, work}, reply);
  return !work.exceeded();
}

response filter_too_costly() {
  return error_response(413, "The filter examines more than " + std::to_string(filter::filter_work_max) +
                                 " bytes of these rows: use fewer comparisons, or ask for fewer rows");
}

} // namespace belay::http
