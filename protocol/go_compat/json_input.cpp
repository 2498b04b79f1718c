#include "protocol/go_compat/json_input.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/string.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace belay::go_compat {

namespace {

// Deep enough for every registration; protects the stack of
// recursive code against deeply nested input from the network.
constexpr std::size_t depth_max = 64;

std::string_view view(const boost::json::string& s) {
  return {s.data(), s.size()};
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string kind_name(const boost::json::value& v) {
  switch (v.kind()) {
  case boost::json::kind::null:
    return "null";
  case boost::json::kind::bool_:
    return "bool";
  case boost::json::kind::string:
    return "string";
  case boost::json::kind::array:
    return "array";
  case boost::json::kind::object:
    return "object";
  default:
    return "number";
  }
}

/// The value for a number beyond signed 64 bits. Go converts to the smallest integer; this one can
/// also be negated.
constexpr std::int64_t beyond_64_bits = -std::numeric_limits<std::int64_t>::max();

/// @pre finite
std::int64_t whole(double d) {
  constexpr double bound = 9223372036854774784.0; // largest double below 2^63
  return d >= -bound && d <= bound ? static_cast<std::int64_t>(d) : beyond_64_bits;
}

/// The number at the front of the text, as written; empty: there is none.
std::string_view number_at(std::string_view text) {
  return text.substr(0, std::min(text.find_first_not_of("+-.0123456789Ee"), text.size()));
}

/// The first number outside of strings that equals `wanted`.
std::string_view number_as_written(std::string_view text, double wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\')
          ++i;
    } else if (const auto number = number_at(text.substr(i)); !number.empty()) {
      boost::json::error_code wrong;
      const auto v = boost::json::parse(number, wrong);
      if (!wrong && v.is_double() && v.get_double() == wanted)
        return number;
      i += number.size() - 1;
    }
  }
  return {};
}

struct json_count {
  std::size_t values = 1;
  std::size_t longest = 0; ///< elements of the longest list or object
};

/// Counts brackets and commas outside of strings, up to the end of the first value or until
/// `more(count)` returns false. For invalid JSON it counts at least up to where the parser stops.
template <class More>
json_count count_values(std::string_view text, More more) {
  std::array<std::size_t, depth_max> elements{}; // number of elements at each open level
  std::size_t depth = 0;
  json_count n;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '"':
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\')
          ++i;
      continue;
    case '{':
    case '[':
      if (depth == depth_max)
        return n; // the parser reports it
      elements[depth++] = 1;
      break;
    case '}':
    case ']':
      if (depth == 0 || --depth == 0)
        return n;
      continue;
    case ',':
      if (depth == 0)
        return n;
      n.longest = std::max(n.longest, ++elements[depth - 1]);
      break;
    default:
      continue;
    }
    ++n.values;
    if (!more(n))
      return n;
  }
  return n;
}

/// Empty: within the limits.
std::string beyond(std::string_view text, const json_bounds& bounds) {
  if (text.size() / 2 < std::min(bounds.values_max, bounds.elements_max))
    return {}; // the common case costs nothing
  const auto n = count_values(text, [&](const json_count& so_far) {
    return so_far.values <= bounds.values_max && so_far.longest <= bounds.elements_max;
  });
  if (n.longest > bounds.elements_max)
    return "a list or object has more than " + std::to_string(bounds.elements_max) + " elements";
  if (n.values > bounds.values_max)
    return "more than " + std::to_string(bounds.values_max) + " values";
  return {};
}

/// Go reads each invalid byte of UTF-8 as U+FFFD; Boost.JSON keeps it, and then a
/// row could not be named by its displayed name. @returns nullopt: there are none
std::optional<std::string> with_whole_characters(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii))
    return std::nullopt;
  std::string mended;
  bool inside = false, any = false; // inside a string; any byte was replaced
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    std::size_t length = 1;
    if (inside && !is_ascii(c)) {
      std::uint32_t code_point = 0;
      length = utf8_character(text.substr(i), code_point);
    } else if (inside && c == '\\' && i + 1 < text.size() && is_ascii(text[i + 1]))
      length = 2;
    else if (c == '"')
      inside = !inside;
    if (length == 0) {
      append_utf8(mended, 0xFFFD);
      any = true;
    } else
      mended.append(text.substr(i, length));
    i += std::max<std::size_t>(length, 1);
  }
  return any ? std::optional(std::move(mended)) : std::nullopt;
}

/// The number of the escape `\uXXXX` at the front; nullopt: there is none.
std::optional<std::uint32_t> escaped_unit(std::string_view text) {
  constexpr std::size_t length = 6;
  if (text.size() < length || !text.starts_with("\\u"))
    return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : text.substr(2, length - 2)) {
    const int digit = hex_value(c);
    if (digit < 0)
      return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

/// Go reads an unpaired surrogate as U+FFFD; Boost.JSON 1.81 rejects it. JavaScript
/// and Python write them when a text was truncated. @returns nullopt: there are none
std::optional<std::string> with_whole_surrogates(std::string_view text) {
  constexpr std::size_t length = 6;
  std::optional<std::string> mended;
  for (auto at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at)) {
    const auto unit = escaped_unit(text.substr(at));
    if (!unit) {
      at += 2;
      continue;
    }
    const bool leads = *unit >= 0xD800 && *unit < 0xDC00, trails = *unit >= 0xDC00 && *unit < 0xE000;
    const auto next = leads ? escaped_unit(text.substr(at + length)) : std::nullopt;
    if (next && *next >= 0xDC00 && *next < 0xE000) {
      at += 2 * length;
      continue;
    }
    if (leads || trails) {
      if (!mended)
        mended.emplace(text);
      mended->replace(at, length, "\\ufffd");
    }
    at += length;
  }
  return mended;
}

} // namespace

std::size_t json_values_at_most(std::string_view text) {
  return count_values(text, [](const json_count&) { return true; }).values;
}

namespace {

/// @param whole_text only spaces may follow
result<boost::json::value> read_value(std::string_view text, const json_bounds& bounds, bool whole_text) {
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  if (text.empty())
    return failure{"EOF"};
  if (auto why = beyond(text, bounds); !why.empty())
    return failure{std::move(why)};
  boost::json::parse_options options;
  options.max_depth = depth_max;
  options.allow_invalid_utf8 = true;
  const auto whole = with_whole_characters(text);
  if (whole)
    text = *whole;
  const auto mended = with_whole_surrogates(text);
  if (mended)
    text = *mended;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code wrong;
  const auto used = parser.write_some(text.data(), text.size(), wrong);
  if (!wrong && !parser.done())
    parser.finish(wrong); // a number at the very end, or a truncated text
  if (!wrong) {
    const auto rest = text.substr(used);
    const auto junk = std::find_if_not(rest.begin(), rest.end(), is_space);
    if (whole_text && junk != rest.end())
      return failure{"invalid character " + quoted_byte(*junk) + " after top-level value"};
    return parser.release();
  }
  if (wrong == boost::json::error::too_deep)
    return failure{"exceeded max depth"};
  if (used >= text.size() || wrong == boost::json::error::incomplete)
    return failure{"unexpected EOF"};
  return failure{"invalid character " + quoted_byte(text[used]) + " " +
                 (used == 0 ? "looking for beginning of value" : "in JSON at byte " + std::to_string(used + 1))};
}

} // namespace

result<boost::json::value> read_json(std::string_view text, const json_bounds& bounds) {
  return read_value(text, bounds, false);
}

result<boost::json::value> read_json_file(std::string_view text, const json_bounds& bounds) {
  auto v = read_value(text, bounds, true);
  if (!v && v.error().ends_with("EOF"))
    return failure{"unexpected end of JSON input"};
  return v;
}

void json_decoder::unknown(std::string_view name) {
  if (keeps_next())
    fail("json: unknown field " + quoted(name));
}

bool json_decoder::fits(std::size_t n, json_field at, std::size_t elements_max) {
  if (n <= elements_max)
    return true;
  fail(std::string(at.owner) + "." + std::string(at.name) + " has more than " + std::to_string(elements_max) +
       " elements");
  return false;
}

void json_decoder::wrong_type(const boost::json::value& v, std::string_view what) {
  if (keeps_next())
    fail("json: cannot unmarshal " + kind_name(v) + " into Go " + std::string(what));
}

void json_decoder::wrong_field(const boost::json::value& v, json_field at, std::string_view type) {
  if (!keeps_next())
    return;
  auto shown = kind_name(v);
  // Go shows the number if the type is numeric, too, but cannot represent it.
  if (v.is_number() && (type == "int" || type == "uint64" || type == "uint8" || type == "float64"))
    shown += " " + shown_number(v);
  fail("json: cannot unmarshal " + shown + " into Go struct field " + std::string(at.owner) + "." +
       std::string(at.name) + " of type " + std::string(type));
}

std::string json_decoder::shown_number(const boost::json::value& v) const {
  // Integers have only one notation.
  if (const auto* d = v.if_double())
    if (const auto number = number_as_written(written_, *d); !number.empty())
      return std::string(number);
  return boost::json::serialize(v);
}

void json_decoder::text(const boost::json::value& v, json_field at, std::string& out) {
  if (const auto* s = v.if_string())
    out = view(*s);
  else if (!v.is_null())
    wrong_field(v, at, "string");
}

void json_decoder::boolean(const boost::json::value& v, json_field at, bool& out) {
  if (const auto* b = v.if_bool())
    out = *b;
  else if (!v.is_null())
    wrong_field(v, at, "bool");
}

void json_decoder::integer(const boost::json::value& v, json_field at, std::int64_t& out) {
  if (const auto* i = v.if_int64())
    out = *i;
  else if (!v.is_null())
    wrong_field(v, at, "int");
}

void json_decoder::unsigned_integer(const boost::json::value& v, json_field at, std::uint64_t& out) {
  if (const auto* u = v.if_uint64())
    out = *u;
  else if (const auto* i = v.if_int64(); i && *i >= 0)
    out = static_cast<std::uint64_t>(*i);
  else if (!v.is_null())
    wrong_field(v, at, "uint64");
}

void json_decoder::octet(const boost::json::value& v, json_field at, std::uint8_t& out) {
  if (const auto* i = v.if_int64(); i && *i >= 0 && *i <= std::numeric_limits<std::uint8_t>::max())
    out = static_cast<std::uint8_t>(*i);
  else if (!v.is_null())
    wrong_field(v, at, "uint8");
}

void json_decoder::bytes(const boost::json::value& v, json_field at, std::string& out) {
  out.clear();
  if (v.is_null())
    return;
  if (const auto* list = v.if_array()) {
    for (const auto& each : *list) {
      std::uint8_t byte = 0;
      octet(each, at, byte);
      out.push_back(static_cast<char>(byte));
    }
    return;
  }
  const auto* s = v.if_string();
  if (!s)
    return wrong_field(v, at, "[]uint8");
  if (auto decoded = decode_base64(view(*s)))
    out = std::move(*decoded);
  else
    fail(decoded.error());
}

void json_decoder::index(const boost::json::value& v, json_field at, log_index& out) {
  unsigned_integer(v, at, out.value);
}

void json_decoder::real(const boost::json::value& v, json_field at, double& out) {
  double number = 0;
  if (const auto* d = v.if_double())
    number = *d;
  else if (const auto* i = v.if_int64())
    number = static_cast<double>(*i);
  else if (const auto* u = v.if_uint64())
    number = static_cast<double>(*u);
  else if (v.is_null())
    return;
  else
    return wrong_field(v, at, "float64");
  if (std::isfinite(number))
    out = number;
  else
    wrong_field(v, at, "float64");
}

void json_decoder::reals(const boost::json::value& v, json_field at, std::vector<double>& out) {
  out.clear();
  if (v.is_null())
    return;
  const auto* list = v.if_array();
  if (!list) {
    wrong_field(v, at, "[]float64");
    return;
  }
  for (const auto& each : *list)
    real(each, at, out.emplace_back());
}

void json_decoder::texts(const boost::json::value& v, json_field at, std::optional<std::vector<std::string>>& out) {
  if (v.is_null()) {
    out.reset();
    return;
  }
  const auto* list = v.if_array();
  if (!list) {
    wrong_field(v, at, "[]string");
    return;
  }
  out.emplace();
  for (const auto& each : *list)
    text(each, at, out->emplace_back());
}

void json_decoder::map(const boost::json::value& v, json_field at,
                       std::optional<std::map<std::string, std::string>>& out) {
  if (v.is_null()) {
    out.reset();
    return;
  }
  const auto* object = v.if_object();
  if (!object) {
    wrong_field(v, at, "map[string]string");
    return;
  }
  out.emplace();
  for (const auto& m : *object)
    text(m.value(), at, (*out)[std::string(m.key().data(), m.key().size())]);
}

void json_decoder::number_of_ns(const boost::json::value& v, json_field at, std::int64_t& out) {
  if (const auto* i = v.if_int64())
    out = *i;
  else if (v.is_uint64())
    out = beyond_64_bits;
  else if (const auto* d = v.if_double()) {
    if (std::isfinite(*d))
      out = whole(*d);
    else
      wrong_field(v, at, "float64");
  }
}

void json_decoder::duration_ns(const boost::json::value& v, json_field at, std::int64_t& out) {
  if (const auto* s = v.if_string()) {
    if (const auto d = parse_duration(view(*s)))
      out = d->count();
    else
      fail(duration_complaint(view(*s)));
  } else if (v.is_number())
    number_of_ns(v, at, out);
  else if (!v.is_null() && keeps_ == keeps::all_errors)
    wrong_field(v, at, "time.Duration");
}

void json_decoder::readable_duration_ns(const boost::json::value& v, json_field at, std::int64_t& out) {
  if (v.is_string() || v.is_number())
    duration_ns(v, at, out);
  else
    fail(invalid_syntax("ParseFloat", boost::json::serialize(v)).text);
}

} // namespace belay::go_compat
