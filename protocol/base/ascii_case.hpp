#pragma once
// Case-insensitive comparison, ASCII only: names of headers, JSON members, nodes and services.

#include <string>
#include <string_view>

namespace belay {

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = lower_case(c);
  return out;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower_case(a[i]) != lower_case(b[i]))
      return false;
  return true;
}

} // namespace belay
