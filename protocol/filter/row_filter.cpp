#include "protocol/filter/row_filter.hpp"

#include "protocol/filter/comparison.hpp"
#include "protocol/filter/grammar.hpp"

#include <algorithm>
#include <optional>

namespace belay::filter {

struct row_filter::condition {
  node_kind kind = node_kind::match;
  std::optional<comparison> match;
  std::vector<condition> parts;

  bool holds(const void* row, filter_work& work) const {
    const auto each = [&](const condition& c) { return c.holds(row, work); };
    switch (kind) {
    case node_kind::match:
      return work.comparison([&] { return match->holds(row, work); });
    case node_kind::all:
      return std::all_of(parts.begin(), parts.end(), each);
    case node_kind::any:
      return std::any_of(parts.begin(), parts.end(), each);
    case node_kind::negation:
      break;
    }
    return !parts.front().holds(row, work);
  }

  static result<condition> bind(const expression& e, fields of, std::size_t& patterns) {
    condition c;
    c.kind = e.kind;
    if (e.kind == node_kind::match) {
      auto bound = comparison::bind(e.match, of);
      if (!bound)
        return bound.reason();
      if (bound->has_pattern() && ++patterns > patterns_max)
        return failure{"expression has more than " + std::to_string(patterns_max) + " regular expressions"};
      c.match = std::move(bound).value();
      return c;
    }
    for (const auto& part : e.parts) {
      auto bound = bind(part, of, patterns);
      if (!bound)
        return bound;
      c.parts.push_back(std::move(bound).value());
    }
    return c;
  }
};

row_filter::row_filter(fields of, std::unique_ptr<const condition> root) : fields_(of), root_(std::move(root)) {}
row_filter::row_filter(row_filter&&) noexcept = default;
row_filter& row_filter::operator=(row_filter&&) noexcept = default;
row_filter::~row_filter() = default;

result<row_filter> row_filter::compile(std::string_view text, fields of) {
  const auto e = parse(text);
  if (!e)
    return e.reason();
  return bind(*e, of);
}

result<row_filter> row_filter::bind(const expression& e, fields of) {
  std::size_t patterns = 0;
  auto root = condition::bind(e, of, patterns);
  if (!root)
    return root.reason();
  return row_filter(of, std::make_unique<const condition>(std::move(root).value()));
}

bool row_filter::accepts(const void* row, filter_work& work) const {
  return work.row([&] { return !work.exceeded() && root_->holds(row, work); });
}

} // namespace belay::filter
