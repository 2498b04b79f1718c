#pragma once
// JSON that came from a server: reading members of what may be anything, and printing it.

#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

/// As `-format=json` prints it: as Go's encoder with four blanks, and a line break at the end.
std::string pretty(const boost::json::value& v);
/// Without blanks or line breaks.
std::string compact(const boost::json::value& v);

/// nullptr: `v` is no object, or has no such member.
const boost::json::value* member(const boost::json::value& v, std::string_view name);
/// A string, number or boolean as text; empty for everything else, and for nullptr.
std::string text_of(const boost::json::value* v);
/// text_of(member()).
std::string member_text(const boost::json::value& v, std::string_view name);
/// 0: there is none that is a whole number from 0 to 2^64 - 1.
std::uint64_t member_number(const boost::json::value& v, std::string_view name);
bool member_is_true(const boost::json::value& v, std::string_view name);
/// The elements of a list; none if it is no list, or nullptr.
const boost::json::array& elements(const boost::json::value* v);
/// Names and texts of an object whose members are texts, `name=text`, sorted by name.
std::vector<std::string> pairs_of(const boost::json::value* v);

/// Several texts in one, with `between` between them.
std::string joined(const std::vector<std::string>& parts, std::string_view between);

} // namespace belay::cli
