#pragma once
// One comparison of a filter, bound to a field: converted value, compiled pattern.

#include "protocol/base/result.hpp"
#include "protocol/filter/expression.hpp"
#include "protocol/filter/field.hpp"
#include "protocol/filter/filter_work.hpp"
#include "protocol/go_compat/regular_expression.hpp"

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::filter {

class comparison {
public:
  static result<comparison> bind(const match& m, fields of);

  bool holds(const void* row, filter_work& work) const { return of_row(row, 0, work); }
  bool has_pattern() const { return pattern_.has_value(); }

private:
  /// A field of an object, or the key of a map if `field` is null.
  struct step {
    const filter::field* field = nullptr;
    std::string key;
  };

  comparison() = default;

  status bind_selector(const match& m, fields of);
  status bind_value(const match& m);
  status bind_pattern(const match& m);

  /// `depth`: number of completed steps.
  bool of_row(const void* row, std::size_t depth, filter_work& work) const;
  bool of_value(const field_value& v, std::size_t depth, filter_work& work) const;
  bool of_json(const boost::json::value* v, field_kind kind, std::size_t depth, filter_work& work) const;
  bool of_missing_key() const;

  bool of_text(std::string_view text, filter_work& work) const;
  bool of_integer(std::int64_t n) const;
  bool of_natural(std::uint64_t n) const;
  bool of_boolean(bool b) const;
  bool of_size(std::size_t size) const;
  bool of_presence(bool present) const;
  /// `held`: whether the operator without "not" holds.
  bool unless_negative(bool held) const { return held != negative_; }

  std::vector<step> path_;
  field_kind kind_ = field_kind::text; ///< at the end of the path
  match_operator op_ = match_operator::equal;
  bool negative_ = false;
  std::string text_;
  std::variant<std::int64_t, std::uint64_t, bool> number_;
  std::optional<go_compat::regular_expression> pattern_;
};

} // namespace belay::filter
