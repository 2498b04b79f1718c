#include "protocol/coordinates/table.hpp"

#include "protocol/base/ascii_case.hpp"

#include <algorithm>

namespace belay::coordinates {

bool is_usable(const row& r) {
  return !r.node.empty() && r.node.size() <= name_bytes_max && r.segment.size() <= segment_bytes_max && is_valid(r.at);
}

table::key table::key_of(std::string_view node, std::string_view segment) {
  return {lower_case(node), std::string(segment)};
}

row_ptr table::find(const key& k) const {
  const auto at = rows_.find(k);
  return at == rows_.end() ? nullptr : at->second;
}

std::vector<row_ptr> table::of_node(std::string_view node) const {
  std::vector<row_ptr> out;
  const auto first = key_of(node, {});
  for (auto at = rows_.lower_bound(first); at != rows_.end() && at->first.first == first.first; ++at)
    out.push_back(at->second);
  return out;
}

void table::put(row_ptr r) {
  newest_ = std::max(newest_, r->stamp);
  auto k = key_of(r->node, r->segment);
  rows_.insert_or_assign(std::move(k), std::move(r));
}

namespace {

/// Null: none of them is in that segment.
const coordinate* in_segment(const std::vector<row_ptr>& rows, std::string_view segment) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const row_ptr& r) { return r->segment == segment; });
  return at == rows.end() ? nullptr : &(*at)->at;
}

} // namespace

distances::distances(const table* t, std::string_view from) : table_(t) {
  if (table_ != nullptr)
    from_ = table_->of_node(from);
}

/// If either node is in only one segment, that segment is compared: nodes in several segments are
/// servers, which are in all.
std::optional<std::chrono::nanoseconds> distances::to(std::string_view node) const {
  if (!known())
    return std::nullopt;
  const auto there = table_->of_node(node);
  std::string_view segment;
  if (from_.size() == 1)
    segment = from_.front()->segment;
  if (there.size() == 1)
    segment = there.front()->segment;
  const auto* a = in_segment(from_, segment);
  const auto* b = in_segment(there, segment);
  if (a == nullptr || b == nullptr)
    return std::nullopt;
  return distance(*a, *b);
}

} // namespace belay::coordinates
