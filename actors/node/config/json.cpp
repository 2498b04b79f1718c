#include "actors/node/config/json.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <boost/json/parse.hpp>

namespace belay::actors {

namespace {

/// Parses just enough of the grammar to report the first wrong character as Go's encoding/json
/// does, and records the locations of keys and list elements.
class go_syntax {
public:
  explicit go_syntax(std::string_view text) : text_(text), position_(text) {}

  /// @param here gets the locations below the value; null: not needed
  /// @returns false: see complaint() and location(). true: end() is the position after the value.
  bool value(file_locations* here, int depth = 0) {
    if (depth > 512)
      return wrong("exceeded max depth");
    skip_blanks();
    if (at_end())
      return cut_short();
    switch (char c = text_[pos_]; c) {
    case '{':
      return object(here, depth);
    case '[':
      return array(here, depth);
    case '"':
      return string();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      if (c == '-' || (c >= '0' && c <= '9'))
        return number();
      return unexpected("looking for beginning of value");
    }
  }

  std::size_t end() const { return pos_; }
  /// Expects only blanks. @returns false: see complaint() and location()
  bool ends() {
    skip_blanks();
    return at_end() || unexpected("after top-level value");
  }
  const std::string& complaint() const { return complaint_; }
  /// Location of the character in the complaint.
  file_location location() { return position_.at(pos_); }

private:
  bool at_end() const { return pos_ >= text_.size(); }

  void skip_blanks() {
    while (!at_end() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\r' || text_[pos_] == '\n'))
      ++pos_;
  }

  bool wrong(std::string text) {
    complaint_ = std::move(text);
    return false;
  }
  bool cut_short() { return wrong("unexpected end of JSON input"); }

  bool unexpected(std::string_view where) {
    return wrong("invalid character " + go_compat::quoted_byte(text_[pos_]) + " " + std::string(where));
  }

  /// Parts between commas, up to `close`; the current character is the opening bracket.
  template <class Part>
  bool list(char close, std::string_view behind_a_part, Part part) {
    ++pos_;
    skip_blanks();
    if (!at_end() && text_[pos_] == close)
      return ++pos_, true;
    for (;;) {
      if (!part())
        return false;
      skip_blanks();
      if (at_end())
        return cut_short();
      if (text_[pos_] == close)
        return ++pos_, true;
      if (text_[pos_] != ',')
        return unexpected(behind_a_part);
      ++pos_;
    }
  }

  /// @returns whether one more location is recorded
  bool worth_a_location(const file_locations* here) { return here != nullptr && kept_++ < file_locations_max; }

  file_locations* placed_member(file_locations* here, std::size_t from, std::size_t to) {
    // If a key is repeated, the last value counts. A key with an escape gets no location.
    const auto name = text_.substr(from + 1, to - from - 2);
    if (name.find('\\') != name.npos || !worth_a_location(here))
      return nullptr;
    auto& member = here->members[std::string(name)];
    member = {position_.at(from), {}, {}};
    return &member;
  }

  file_locations* placed_element(file_locations* here) {
    skip_blanks();
    return worth_a_location(here) ? &here->elements.emplace_back(file_locations{position_.at(pos_), {}, {}}) : nullptr;
  }

  bool object(file_locations* here, int depth) {
    return list('}', "after object key:value pair", [this, here, depth] {
      skip_blanks();
      if (at_end())
        return cut_short();
      if (text_[pos_] != '"')
        return unexpected("looking for beginning of object key string");
      const auto key = pos_;
      if (!string())
        return false;
      auto* member = placed_member(here, key, pos_);
      skip_blanks();
      if (at_end())
        return cut_short();
      if (text_[pos_] != ':')
        return unexpected("after object key");
      ++pos_;
      return value(member, depth + 1);
    });
  }

  bool array(file_locations* here, int depth) {
    return list(']', "after array element", [this, here, depth] { return value(placed_element(here), depth + 1); });
  }

  bool string() {
    for (++pos_;; ++pos_) {
      if (at_end())
        return cut_short();
      auto c = static_cast<unsigned char>(text_[pos_]);
      if (c == '"')
        return ++pos_, true;
      if (c < 0x20)
        return unexpected("in string literal");
      if (c != '\\')
        continue;
      if (++pos_; at_end())
        return cut_short();
      if (text_[pos_] == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (++pos_; at_end())
            return cut_short();
          if (hex_value(text_[pos_]) < 0)
            return unexpected("in \\u hexadecimal character escape");
        }
      } else if (std::string_view("\"\\/bfnrt").find(text_[pos_]) == std::string_view::npos) {
        return unexpected("in string escape code");
      }
    }
  }

  bool word(std::string_view expected) {
    for (std::size_t i = 0; i < expected.size(); ++i, ++pos_) {
      if (at_end())
        return cut_short();
      if (text_[pos_] != expected[i])
        return unexpected("in literal " + std::string(expected) + " (expecting '" + expected[i] + "')");
    }
    return true;
  }

  bool digit() const { return !at_end() && text_[pos_] >= '0' && text_[pos_] <= '9'; }

  bool number() {
    if (text_[pos_] == '-')
      ++pos_;
    if (at_end())
      return cut_short();
    if (!digit())
      return unexpected("in numeric literal");
    if (text_[pos_] == '0')
      ++pos_;
    else
      while (digit())
        ++pos_;
    if (!at_end() && text_[pos_] == '.') {
      ++pos_;
      if (at_end())
        return cut_short();
      if (!digit())
        return unexpected("after decimal point in numeric literal");
      while (digit())
        ++pos_;
    }
    if (!at_end() && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
      ++pos_;
      if (!at_end() && (text_[pos_] == '+' || text_[pos_] == '-'))
        ++pos_;
      if (at_end())
        return cut_short();
      if (!digit())
        return unexpected("in exponent of numeric literal");
      while (digit())
        ++pos_;
    }
    return true;
  }

  std::string_view text_;
  text_position position_;
  std::size_t pos_ = 0;
  std::size_t kept_ = 0; ///< recorded locations
  std::string complaint_;
};

} // namespace

config_text_result parse_config_json(std::string_view text) {
  if (text.empty()) // as in Consul: a file that was just created sets nothing
    return config_text{};
  go_syntax syntax(text);
  config_text read;
  if (!syntax.value(&read.locations))
    return config_text_error{syntax.complaint(), syntax.location()};
  boost::json::parse_options options;
  options.max_depth = 513;
  options.allow_invalid_utf8 = true;
  boost::system::error_code ec;
  const auto end = syntax.end();
  if (!syntax.ends())
    return config_text_error{syntax.complaint(), syntax.location()};
  auto v = boost::json::parse(text.substr(0, end), ec, {}, options);
  if (ec)
    return config_text_error{"invalid JSON: " + ec.message(), {}};
  if (v.is_null())
    return config_text{};
  if (!v.is_object())
    return config_text_error{std::string("json: cannot unmarshal ") +
                                 (v.is_array()    ? "array"
                                  : v.is_string() ? "string"
                                  : v.is_bool()   ? "bool"
                                                  : "number") +
                                 " into Go value of type map[string]interface {}",
                             text_position(text).at(text.find_first_not_of(" \t\r\n"))};
  read.values = std::move(v.get_object());
  return read;
}

const boost::json::value* value_at(const boost::json::object& config, std::string_view path) {
  if (const auto* v = config.if_contains(path))
    return v;
  // Names that users choose may contain dots, so each dot may or may not separate two names.
  for (auto dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    if (const auto* v = config.if_contains(path.substr(0, dot)); v != nullptr && v->is_object())
      if (const auto* found = value_at(v->get_object(), path.substr(dot + 1)))
        return found;
  return nullptr;
}

} // namespace belay::actors
