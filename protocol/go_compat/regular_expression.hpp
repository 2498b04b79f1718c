#pragma once
// Go's regular expressions, from untrusted clients. RE2 takes time
// linear in the text, whereas backtracking libraries can take minutes.

#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace belay::go_compat {

class regular_expression {
public:
  /// Max length of an expression's text.
  static constexpr std::size_t text_bytes_max = 512;
  /// Limit of the compiled expression and its matching state.
  static constexpr std::size_t memory_bytes_max = 512 * 1024;

  /// @returns an error of Go's regexp/syntax, without `error parsing regexp:
  /// `: "missing closing ]: `[`"; or one that says that the text is too long
  static result<regular_expression> compile(const std::string& text);

  regular_expression(regular_expression&&) noexcept;
  regular_expression& operator=(regular_expression&&) noexcept;
  ~regular_expression();

  /// Matches anywhere in the text.
  bool matches(std::string_view text) const;

private:
  explicit regular_expression(std::unique_ptr<re2::RE2> compiled);

  std::unique_ptr<re2::RE2> compiled_;
};

} // namespace belay::go_compat
