#include "protocol/acl/legacy_rules.hpp"

#include "protocol/base/overloaded.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/hcl/parser.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace belay::acl {
namespace {

constexpr std::array<std::string_view, 7> legacy_words = {"agent", "event",   "key",    "node",
                                                          "query", "service", "session"};

bool is_legacy_word(std::string_view name) {
  return std::find(legacy_words.begin(), legacy_words.end(), name) != legacy_words.end();
}

/// An unquoted name in HCL. Non-ASCII letters could
/// be part of one, too, but quotes are always valid.
bool is_identifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_more = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_more) && name != "true" &&
         name != "false";
}

/// An item with its names and its value as printed.
struct printed_item {
  std::vector<std::string> names;
  std::string value;
  bool is_block = false; ///< no `=` between name and value
  std::uint32_t line = 0;

  std::string text() const {
    std::string out;
    for (const auto& name : names)
      out += name + ' ';
    if (names.size() == 1 && !is_block)
      out += "= ";
    return out + value;
  }
  bool is_one_line() const { return std::count(value.begin(), value.end(), '\n') < 2; }
};

std::string indented(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && c != '\n')
      out += "  ";
    out += c;
    at_start = c == '\n';
  }
  return out;
}

// Longer names do not align the values of other lines: each of them would be padded to that length.
constexpr std::size_t aligned_max = 256;

/// Items of adjacent lines, with aligned values.
std::string aligned(std::span<const printed_item> items) {
  std::size_t longest = 0;
  for (const auto& item : items)
    longest = std::max(longest, std::min(item.names.front().size(), aligned_max));
  std::string out;
  for (const auto& item : items) {
    if (!out.empty())
      out += '\n';
    for (const auto& name : item.names)
      out += name + std::string(longest >= name.size() ? longest - name.size() + 1 : 1, ' ');
    if (item.names.size() == 1)
      out += "= ";
    out += item.value;
  }
  return out;
}

/// Number of items from `first` on that are printed as adjacent lines. Each of them has one line,
/// and no empty line separates them in the source. Zero if `first` is separate.
std::size_t adjacent_from(std::span<const printed_item> items, std::size_t first) {
  std::size_t end = first;
  while (end < items.size() && items[end].is_one_line() && (end == first || items[end].line == items[end - 1].line + 1))
    ++end;
  return end - first < 2 ? 0 : end - first;
}

/// Prints like github.com/hashicorp/hcl v1.0.0 (hcl/printer/nodes.go),
/// each value once. legacy_nesting_max bounds the recursion.
class printer {
public:
  bool too_deep() const { return too_deep_; }

  printed_item item(const hcl::item& from) {
    printed_item out;
    for (const auto& key : from.keys)
      out.names.push_back(out.names.empty() && is_identifier(key) ? key : go_compat::quoted(key));
    out.value = value(from.is);
    out.is_block = std::holds_alternative<hcl::object>(from.is.is);
    out.line = from.at.line;
    return out;
  }

  std::string value(const hcl::value& from) {
    if (depth_ == legacy_nesting_max) {
      too_deep_ = true;
      return {};
    }
    ++depth_;
    std::string out = std::visit(overloaded{
                                     [](const std::string& text) { return go_compat::quoted(text); },
                                     [](const hcl::number& n) { return n.text; },
                                     [](bool b) { return std::string(b ? "true" : "false"); },
                                     [&](const hcl::list& l) { return list(l, from.at.line); },
                                     [&](const hcl::object& o) { return object(o); },
                                 },
                                 from.is);
    --depth_;
    return out;
  }

private:
  std::string object(const hcl::object& from) {
    std::vector<printed_item> items;
    items.reserve(from.items.size());
    for (const auto& i : from.items)
      items.push_back(item(i));

    std::string out = "{";
    if (!items.empty())
      out += '\n';
    for (std::size_t i = 0; i < items.size();) {
      if (i > 0)
        out += '\n';
      const auto together = adjacent_from(items, i);
      if (together > 0)
        out += indented(aligned(std::span(items).subspan(i, together)));
      else
        out += indented(items[i].text());
      out += '\n';
      i += std::max<std::size_t>(together, 1);
    }
    return out + "}";
  }

  /// Elements on the line of the bracket stay there, others get a line each.
  std::string list(const hcl::list& from, std::uint32_t line) {
    std::string out = "[";
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool last = i + 1 == from.size();
      if (from[i].at.line != line) {
        out += '\n' + indented(value(from[i])) + ',';
        if (last)
          out += '\n';
      } else {
        out += (i > 0 && out.back() == ',' ? " " : "") + value(from[i]);
        if (!last)
          out += ',';
      }
    }
    return out + "]";
  }

  std::size_t depth_ = 0;
  bool too_deep_ = false;
};

bool holds_only_objects(const hcl::value& v) {
  const auto* o = std::get_if<hcl::object>(&v.is);
  const auto is_object = [](const hcl::item& i) { return std::holds_alternative<hcl::object>(i.is.is); };
  return o && !o->items.empty() && std::all_of(o->items.begin(), o->items.end(), is_object);
}

} // namespace

result<std::string> translate_legacy(const hcl::object& document) {
  printer p;
  std::string out;
  const auto print = [&](printed_item item) {
    if (is_legacy_word(item.names.front()))
      item.names.front() += "_prefix";
    out += (out.empty() ? "" : "\n\n") + item.text();
  };
  for (const auto& item : document.items) {
    // JSON form {"key": {"a": {"policy": "read"}}}: one rule for each name.
    if (item.keys.size() == 1 && is_legacy_word(item.keys.front()) && holds_only_objects(item.is)) {
      for (const auto& inner : std::get<hcl::object>(item.is.is).items) {
        auto printed = p.item(inner);
        printed.names.front() = go_compat::quoted(inner.keys.front());
        printed.names.insert(printed.names.begin(), item.keys.front());
        print(std::move(printed));
      }
    } else {
      print(p.item(item));
    }
  }
  if (p.too_deep())
    return failure{"Failed to parse rules: nested deeper than " + std::to_string(legacy_nesting_max) + " levels"};
  return out;
}

result<std::string> translate_legacy(std::string_view text) {
  const auto parsed = hcl::parse(text);
  if (const auto* wrong = std::get_if<hcl::error>(&parsed))
    return failure{"Failed to parse rules: " + hcl::shown(*wrong)};
  return translate_legacy(std::get<hcl::object>(parsed));
}

} // namespace belay::acl
