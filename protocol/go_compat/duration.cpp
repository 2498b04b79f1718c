#include "protocol/go_compat/duration.hpp"

#include <cstdint>
#include <limits>

namespace belay::go_compat {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t ns;
};
constexpr unit units[] = {{"ns", 1},
                          {"us", 1'000},
                          {"\xC2\xB5s", 1'000}, // U+00B5 micro sign
                          {"\xCE\xBCs", 1'000}, // U+03BC Greek mu
                          {"ms", 1'000'000},
                          {"s", 1'000'000'000},
                          {"m", 60'000'000'000},
                          {"h", 3'600'000'000'000}};

constexpr std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool digit(char c) {
  return c >= '0' && c <= '9';
}

enum class flaw { none, invalid, missing_unit, unknown_unit };

struct outcome {
  flaw what = flaw::none;
  std::string_view unit;
  std::int64_t ns = 0;
};

outcome parse(std::string_view s) {
  bool negative = false;
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) {
    negative = s[0] == '-';
    s.remove_prefix(1);
  }
  if (s == "0")
    return {};
  if (s.empty())
    return {flaw::invalid, {}, 0};
  std::uint64_t total = 0;
  while (!s.empty()) {
    if (!digit(s[0]) && s[0] != '.')
      return {flaw::invalid, {}, 0};
    std::uint64_t whole = 0;
    bool any = false;
    while (!s.empty() && digit(s[0])) {
      auto d = static_cast<std::uint64_t>(s[0] - '0');
      if (whole > (most - d) / 10)
        return {flaw::invalid, {}, 0};
      whole = whole * 10 + d;
      any = true;
      s.remove_prefix(1);
    }
    // Ignores digits that cannot change the result, like Go.
    std::uint64_t fraction = 0, scale = 1;
    if (!s.empty() && s[0] == '.') {
      s.remove_prefix(1);
      while (!s.empty() && digit(s[0])) {
        if (scale < 1'000'000'000'000'000'000) {
          fraction = fraction * 10 + static_cast<std::uint64_t>(s[0] - '0');
          scale *= 10;
        }
        any = true;
        s.remove_prefix(1);
      }
    }
    if (!any)
      return {flaw::invalid, {}, 0};
    std::size_t n = 0;
    while (n < s.size() && s[n] != '.' && !digit(s[n]))
      ++n;
    if (n == 0)
      return {flaw::missing_unit, {}, 0};
    auto name = s.substr(0, n);
    s.remove_prefix(n);
    const unit* u = nullptr;
    for (const auto& known : units)
      if (known.name == name)
        u = &known;
    if (!u)
      return {flaw::unknown_unit, name, 0};
    if (whole > most / u->ns)
      return {flaw::invalid, {}, 0};
    auto part = whole * u->ns + static_cast<std::uint64_t>(static_cast<unsigned __int128>(fraction) * u->ns / scale);
    if (part > most || total > most - part)
      return {flaw::invalid, {}, 0};
    total += part;
  }
  auto ns = static_cast<std::int64_t>(total);
  return {flaw::none, {}, negative ? -ns : ns};
}

/// `value` in units of 10^digits, without trailing zeros of the fraction.
std::string decimal(std::uint64_t value, int digits) {
  std::uint64_t scale = 1;
  for (int i = 0; i < digits; ++i)
    scale *= 10;
  auto out = std::to_string(value / scale);
  auto rest = std::to_string(value % scale);
  if (rest == "0")
    return out;
  rest.insert(0, static_cast<std::size_t>(digits) - rest.size(), '0');
  while (rest.back() == '0')
    rest.pop_back();
  return out + "." + rest;
}

} // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  auto o = parse(text);
  if (o.what != flaw::none)
    return std::nullopt;
  return std::chrono::nanoseconds(o.ns);
}

std::string duration_complaint(std::string_view text) {
  auto quoted = "duration \"" + std::string(text) + "\"";
  auto o = parse(text);
  if (o.what == flaw::missing_unit)
    return "time: missing unit in " + quoted;
  if (o.what == flaw::unknown_unit)
    return "time: unknown unit \"" + std::string(o.unit) + "\" in " + quoted;
  return "time: invalid " + quoted;
}

std::string format_duration(std::chrono::nanoseconds d) {
  auto n = d.count();
  if (n == 0)
    return "0s";
  auto u = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  std::string sign = n < 0 ? "-" : "";
  if (u < 1'000)
    return sign + std::to_string(u) + "ns";
  if (u < 1'000'000)
    return sign + decimal(u, 3) + "\xC2\xB5s";
  if (u < 1'000'000'000)
    return sign + decimal(u, 6) + "ms";
  auto minutes = u / 60'000'000'000;
  auto out = sign;
  if (minutes >= 60)
    out += std::to_string(minutes / 60) + "h";
  if (minutes > 0)
    out += std::to_string(minutes % 60) + "m";
  return out + decimal(u % 60'000'000'000, 9) + "s";
}

} // namespace belay::go_compat
