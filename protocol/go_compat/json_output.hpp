#pragma once
// JSON text as Go's encoder writes it (docs/contract/01, section 8), appended to a string.

#include "protocol/base/ids.hpp"

#include <boost/json/value.hpp>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::go_compat {

/// A JSON string; also escapes `<`, `>`, `&` and Unicode's two line separators.
void append_json_string(std::string& out, std::string_view text);
template <class Int>
void append_number(std::string& out, Int value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}
inline void append_number(std::string& out, log_index value) {
  append_number(out, value.value);
}
/// Like Go's float64: the shortest exact digits, exponent below 1e-6 and from 1e21 on. @pre finite
void append_float(std::string& out, double value);
inline void append_bool(std::string& out, bool value) {
  out += value ? "true" : "false";
}
/// Begins the next member of an object, `"name":`, with a comma unless `out` ends in its `{`.
void append_json_name(std::string& out, std::string_view name);
/// A member with a string value.
void append_json_member(std::string& out, std::string_view name, std::string_view value);
inline void append_json_number_member(std::string& out, std::string_view name, std::uint64_t value) {
  append_json_name(out, name);
  append_number(out, value);
}
void append_json_strings(std::string& out, const std::vector<std::string>& list);
/// null if there is none.
void append_json_strings(std::string& out, const std::optional<std::vector<std::string>>& list);
/// null if there is none.
void append_json_map(std::string& out, const std::optional<std::map<std::string, std::string>>& map);
/// A client's value, returned as received.
void append_json_value(std::string& out, const boost::json::value& value);
/// Four-space indentation and a final newline, for ?pretty.
std::string prettify_json(std::string_view compact);

} // namespace belay::go_compat
