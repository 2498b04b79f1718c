#include "protocol/hcl/reading.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <charconv>
#include <limits>
#include <string_view>

namespace belay::hcl {

result<std::int64_t> as_integer(const number& n) {
  const auto& text = n.text;
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+'))
    digits.remove_prefix(1);
  unsigned base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  if (digits.empty())
    return go_compat::invalid_syntax("ParseInt", text);
  const auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + (negative ? 1 : 0);
  std::uint64_t sum = 0;
  bool too_large = false;
  for (const char c : digits) {
    const int digit = hex_value(c);
    if (digit < 0 || static_cast<unsigned>(digit) >= base)
      return go_compat::invalid_syntax("ParseInt", text);
    too_large = too_large || sum > (largest - static_cast<unsigned>(digit)) / base;
    sum = too_large ? 0 : sum * base + static_cast<unsigned>(digit);
  }
  if (too_large)
    return go_compat::out_of_range("ParseInt", text);
  return static_cast<std::int64_t>(negative ? 0 - sum : sum);
}

result<double> as_real(const number& n) {
  double read = 0;
  const auto* end = n.text.data() + n.text.size();
  const auto [stop, code] = std::from_chars(n.text.data(), end, read);
  if (code == std::errc::result_out_of_range)
    return go_compat::out_of_range("ParseFloat", n.text);
  if (code != std::errc{} || stop != end)
    return go_compat::invalid_syntax("ParseFloat", n.text);
  return read;
}

} // namespace belay::hcl
