#pragma once
// Reads characters for a grammar, and tracks errors.

#include "protocol/base/result.hpp"
#include "protocol/go_compat/quoting.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace belay::filter {

/// Position of the next character; columns count characters, offsets bytes.
struct text_position {
  std::size_t line = 1, column = 1, offset = 0;
};

inline std::string to_string(const text_position& p) {
  return std::to_string(p.line) + ':' + std::to_string(p.column) + " (" + std::to_string(p.offset) + ')';
}

/// Reads characters and remembers the farthest position where something else was expected,
/// and what. Error texts show that, in the order in which alternatives are tried. go-bexpr is a
/// generated PEG parser, and the rules below follow its grammar one by one.
class reader {
public:
  explicit reader(std::string_view text) : text_(text) { enter_line(); }

  const text_position& at() const { return at_; }
  void back_to(const text_position& p) { at_ = p; }
  std::string_view since(const text_position& p) const { return text_.substr(p.offset, at_.offset - p.offset); }
  bool at_end() const { return at_.offset == text_.size(); }

  /// @param shown its name in error texts
  bool literal(std::string_view wanted, std::string_view shown) {
    const bool here = text_.substr(at_.offset, wanted.size()) == wanted;
    note(here, at_, shown);
    if (here)
      for (std::size_t i = 0; i < wanted.size(); ++i)
        advance();
    return here;
  }

  template <class Belongs>
  bool character(Belongs belongs, std::string_view shown) {
    const bool here = !at_end() && belongs(text_[at_.offset]);
    note(here, at_, shown);
    if (here)
      advance();
    return here;
  }

  bool end() {
    const auto start = at_;
    return !unless([&] {
      const bool here = !at_end();
      note(here, start, ".");
      if (here)
        advance();
      return here;
    });
  }

  /// Whether `rule` holds here; consumes nothing, and inverts what is expected.
  template <class Rule>
  bool unless(Rule rule) {
    const auto start = at_;
    inverted_ = !inverted_;
    const bool held = rule();
    inverted_ = !inverted_;
    back_to(start);
    return held;
  }

  /// A character of a text between quotes.
  bool character_but(std::string_view quote, std::string_view shown) {
    if (unless([&] { return literal(quote, shown); }))
      return false;
    const bool here = !at_end();
    note(here, at_, ".");
    if (here)
      advance();
    return here;
  }

  void complain(const text_position& p, std::string_view rule, std::string_view what) {
    auto text = to_string(p) + ": rule \"" + std::string(rule) + "\": " + std::string(what);
    if (std::find(complaints_.begin(), complaints_.end(), text) == complaints_.end())
      complaints_.push_back(std::move(text));
  }
  bool has_complaints() const { return !complaints_.empty(); }

  failure reason() const {
    std::string out;
    for (const auto& each : complaints_)
      (out += out.empty() ? "" : "\n") += each;
    return {complaints_.empty() ? to_string(farthest_) + ": no match found, expected: " + expected_list() : out};
  }

private:
  void enter_line() {
    // The line feed itself counts as column 0 of the line that it begins.
    if (!at_end() && text_[at_.offset] == '\n') {
      ++at_.line;
      at_.column = 0;
    }
  }

  void advance() {
    std::uint32_t ignored = 0;
    at_.offset += std::max<std::size_t>(1, go_compat::utf8_character(text_.substr(at_.offset), ignored));
    ++at_.column;
    enter_line();
  }

  void note(bool matched, const text_position& where, std::string_view shown) {
    if (matched != inverted_ || where.offset < farthest_.offset)
      return;
    if (where.offset > farthest_.offset) {
      farthest_ = where;
      expected_.clear();
    }
    expected_.insert((inverted_ ? "!" : "") + std::string(shown));
  }

  std::string expected_list() const {
    std::vector<std::string> list;
    for (const auto& each : expected_)
      if (each != "!.")
        list.push_back(each);
    if (expected_.count("!.") != 0)
      list.emplace_back("EOF");
    std::string out;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0)
        out += i + 1 == list.size() ? " or " : ", ";
      out += list[i];
    }
    return out;
  }

  std::string_view text_;
  text_position at_;
  bool inverted_ = false;
  text_position farthest_;
  std::set<std::string> expected_;
  std::vector<std::string> complaints_;
};

} // namespace belay::filter
