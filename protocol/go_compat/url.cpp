#include "protocol/go_compat/url.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <cstdint>

namespace belay::go_compat {

namespace {

/// Appends; `plus_is_space` as in query strings.
bool decode(std::string_view escaped, bool plus_is_space, std::string& out) {
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const char c = escaped[i];
    if (c == '%') {
      if (i + 2 >= escaped.size())
        return false;
      const int high = hex_value(escaped[i + 1]), low = hex_value(escaped[i + 2]);
      if (high < 0 || low < 0)
        return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else
      out += plus_is_space && c == '+' ? ' ' : c;
  }
  return true;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

void append_escaped(std::string& out, char c) {
  constexpr char hex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += hex[byte >> 4];
  out += hex[byte & 15];
}

void append_query_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_unreserved(c))
      out += c;
    else if (c == ' ')
      out += '+';
    else
      append_escaped(out, c);
  }
}

struct range {
  std::uint32_t first, last;
};
// Rejected by Go's unicode.IsPrint: controls, separators, formats, private use, non-characters.
constexpr range unprintable[] = {{0x80, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},
                                 {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x8E2, 0x8E2},     {0x1680, 0x1680},
                                 {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},
                                 {0x3000, 0x3000},   {0xE000, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},
                                 {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD},
                                 {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF}};

} // namespace

bool decode_path(std::string_view escaped, std::string& out) {
  out.clear();
  out.reserve(escaped.size());
  return decode(escaped, false, out);
}

bool is_clean_path(std::string_view path) {
  if (path.empty() || path.front() != '/')
    return false;
  for (auto at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    const auto rest = path.substr(at + 1);
    if (rest.empty())
      return true;
    if (rest[0] == '/' || rest == "." || rest == ".." || rest.substr(0, 2) == "./" || rest.substr(0, 3) == "../")
      return false;
  }
  return true;
}

std::string clean_path(std::string_view path) {
  std::vector<std::string_view> kept;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto segment = path.substr(begin, end - begin);
    if (segment == "..") {
      if (!kept.empty())
        kept.pop_back();
    } else if (!segment.empty() && segment != ".")
      kept.push_back(segment);
    begin = end + 1;
  }
  std::string out;
  for (const auto segment : kept)
    (out += '/').append(segment);
  if (out.empty() || (!path.empty() && path.back() == '/'))
    out += '/';
  return out;
}

std::string escape_query(std::string_view text) {
  std::string out;
  append_query_escaped(out, text);
  return out;
}

std::string escape_path(std::string_view path) {
  constexpr std::string_view plain = "$&+,/:;=@"; // Go's url package, encodePath
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    if (is_unreserved(c) || plain.find(c) != std::string_view::npos)
      out += c;
    else
      append_escaped(out, c);
  }
  return out;
}

bool is_printable(std::string_view path) {
  for (std::size_t i = 0; i < path.size();) {
    const auto byte = static_cast<unsigned char>(path[i]);
    if (byte < 0x80) {
      if (byte < 0x20 || byte == 0x7F)
        return false;
      ++i;
      continue;
    }
    std::uint32_t character = 0;
    const auto length = utf8_character(path.substr(i), character);
    if (length == 0) {
      ++i;
      continue;
    }
    for (const auto& r : unprintable)
      if (character >= r.first && character <= r.last)
        return false;
    i += length;
  }
  return true;
}

bool query_string::parse(std::string_view raw) {
  const bool escapes = std::any_of(raw.begin(), raw.end(), [](char c) { return c == '%' || c == '+'; });
  if (escapes)
    decoded_.reserve(raw.size()); // decoding never lengthens, so views into it stay valid
  while (!raw.empty()) {
    // Go before 1.17 also separates at ';'.
    const auto separator = std::find_if(raw.begin(), raw.end(), [](char c) { return c == '&' || c == ';'; });
    const auto end = static_cast<std::size_t>(separator - raw.begin());
    const auto part = raw.substr(0, end);
    raw.remove_prefix(std::min(end + 1, raw.size()));
    if (part.empty())
      continue;
    const auto equals = std::min(part.find('='), part.size());
    parameter p{part.substr(0, equals), part.substr(std::min(equals + 1, part.size()))};
    if (escapes)
      for (auto* text : {&p.name, &p.value}) {
        const auto begin = decoded_.size();
        if (!decode(*text, true, decoded_))
          return false;
        *text = std::string_view(decoded_).substr(begin);
      }
    add(p);
  }
  return true;
}

void query_string::add(parameter p) {
  if (count_ < first_.size())
    first_[count_] = p;
  else
    rest_.push_back(p);
  ++count_;
  names_ |= bit_of(p.name);
}

const query_string::parameter* query_string::find(std::string_view name) const {
  for (std::size_t i = 0; i < count_; ++i)
    if (at(i).name == name)
      return &at(i);
  return nullptr;
}

std::vector<std::string> query_string::all(std::string_view name) const {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count_; ++i)
    if (at(i).name == name)
      values.emplace_back(at(i).value);
  return values;
}

std::size_t query_string::count(std::string_view name) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < count_; ++i)
    n += at(i).name == name ? 1 : 0;
  return n;
}

std::string query_string::encoded_without(std::span<const std::string_view> names) const {
  std::vector<parameter> sorted;
  for (std::size_t i = 0; i < count_; ++i)
    if (std::find(names.begin(), names.end(), at(i).name) == names.end())
      sorted.push_back(at(i));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string out;
  for (const auto& p : sorted) {
    if (!out.empty())
      out += '&';
    append_query_escaped(out, p.name);
    out += '=';
    append_query_escaped(out, p.value);
  }
  return out;
}

} // namespace belay::go_compat
