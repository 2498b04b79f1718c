#pragma once
// Reads members of JSON that came from a server and may have any shape, and prints JSON.

#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

/// The text of `-format=json`: as Go's encoder indents by four blanks, with a line break at the
/// end.
std::string pretty(const boost::json::value& v);
/// Without blanks or line breaks.
std::string compact(const boost::json::value& v);

/// @param name the present one; servers before 0.3.0 send the old one (renamed_names.hpp)
/// @returns nullptr if `v` is not an object, or has no such member
const boost::json::value* member(const boost::json::value& v, std::string_view name);
/// A string, number or boolean as text; empty for everything else, and for nullptr.
std::string text_of(const boost::json::value* v);
/// text_of(member()).
std::string member_text(const boost::json::value& v, std::string_view name);
/// @returns 0 if no such member is a whole number from 0 to 2^64 - 1
std::uint64_t member_number(const boost::json::value& v, std::string_view name);
bool member_is_true(const boost::json::value& v, std::string_view name);
/// The elements of a list; none if `v` is not a list, or is nullptr.
const boost::json::array& elements(const boost::json::value* v);
/// `name=text` for each member of an object whose members are texts, sorted by name.
std::vector<std::string> pairs_of(const boost::json::value* v);

/// Joins texts, with `between` between them.
std::string joined(const std::vector<std::string>& parts, std::string_view between);

} // namespace belay::cli
