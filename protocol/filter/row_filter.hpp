#pragma once
// A filter bound to a kind of rows: decides which of them match.

#include "protocol/base/result.hpp"
#include "protocol/filter/expression.hpp"
#include "protocol/filter/field.hpp"
#include "protocol/filter/filter_work.hpp"
#include "protocol/go_compat/regular_expression.hpp"

#include <memory>
#include <string_view>

namespace belay::filter {

// Consul has no such limits. Bounds a pattern's memory; matching takes time linear in the text.
constexpr std::size_t pattern_bytes_max = go_compat::regular_expression::text_bytes_max;
constexpr std::size_t patterns_max = 16;

class row_filter {
public:
  /// The error is go-bexpr's text: of the grammar, of a selector, of an
  /// operator that the field does not have, or of a value of the wrong type.
  static result<row_filter> compile(std::string_view text, fields of);
  static result<row_filter> bind(const expression& e, fields of);

  row_filter(row_filter&&) noexcept;
  row_filter& operator=(row_filter&&) noexcept;
  ~row_filter();

  /// Meaningless once `work` is exceeded; if `work` is paused, call again for the row. Thread-safe.
  /// @pre `row` is of the kind whose fields it was compiled for
  bool accepts(const void* row, filter_work& work) const;
  /// Those fields, to be compared by address.
  fields bound_to() const { return fields_; }

private:
  struct condition;
  row_filter(fields of, std::unique_ptr<const condition> root);

  fields fields_;
  std::unique_ptr<const condition> root_;
};

} // namespace belay::filter
