#include "protocol/state/nearness.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace belay::state {

namespace {

const std::string& node_of(const node_ptr& row) {
  return row->node;
}
const std::string& node_of(const check_ptr& row) {
  return row->node;
}
const std::string& node_of(const service_instance& row) {
  return row.node->node;
}

struct sorting {
  const coordinates::distances& from;

  template <class Row>
  void sort(std::vector<Row>& list) const {
    using far = std::chrono::nanoseconds;
    std::vector<std::pair<far, Row>> rows;
    rows.reserve(list.size());
    std::unordered_map<std::string_view, far> known; // a node often has several rows
    for (auto& row : list) {
      const auto [at, fresh] = known.try_emplace(node_of(row), far::max());
      if (fresh)
        at->second = from.to(at->first).value_or(far::max());
      rows.emplace_back(at->second, std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(rows.begin(), rows.end(), list.begin(), [](auto& each) { return std::move(each.second); });
  }

  void operator()(nodes& a) const { sort(a.list); }
  void operator()(checks& a) const { sort(a.list); }
  void operator()(service_instances& a) const { sort(a.list); }
  template <class Other>
  void operator()(Other&) const {}
};

} // namespace

void sort_by_nearness(query_result& answer, const coordinates::table* known, std::string_view from) {
  const coordinates::distances distances(known, from);
  if (distances.known())
    std::visit(sorting{distances}, answer.data);
}

} // namespace belay::state
