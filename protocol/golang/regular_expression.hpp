#pragma once
// Regular expressions of Go, as strangers send them. RE2 runs in time linear in the text: no expression makes it try all ways to match,
// as backtracking libraries do for minutes.

#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace belay::golang {

class regular_expression {
public:
  /// Length of the text of an expression.
  static constexpr std::size_t text_bytes_max = 512;
  /// Of the compiled expression and what it keeps while it matches.
  static constexpr std::size_t memory_bytes_max = 512 * 1024;

  /// @returns a failure in the words of Go's regexp/syntax, without `error parsing regexp: `: "missing closing ]: `[`"; or one that
  /// says that the text is too long
  static result<regular_expression> compile(const std::string& text);

  regular_expression(regular_expression&&) noexcept;
  regular_expression& operator=(regular_expression&&) noexcept;
  ~regular_expression();

  /// Anywhere in the text.
  bool matches(std::string_view text) const;

private:
  explicit regular_expression(std::unique_ptr<re2::RE2> compiled);

  std::unique_ptr<re2::RE2> compiled_;
};

} // namespace belay::golang
