#pragma once
// Request targets: percent escapes, the path a client really means, and query strings (docs/contract/01, sections 2 and 6).

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::golang {

/// Decodes %XX once and leaves '+' alone. @returns false if an escape is malformed; `out` is unspecified then.
bool decode_path(std::string_view escaped, std::string& out);
/// Without empty, "." and ".." segments; a trailing slash is kept.
std::string clean_path(std::string_view path);
/// clean_path(path) == path, without building it.
bool is_clean_path(std::string_view path);
/// For a path in a request or a Location header; the inverse of decode_path. Slashes stay.
std::string escape_path(std::string_view path);
/// For a name or value behind '?'; a space becomes '+'.
std::string escape_query(std::string_view text);
/// No character is a control, a separator other than the space, or unassigned for text. Bytes that are not UTF-8 pass.
bool is_printable(std::string_view path);

/// The parameters behind '?', decoded. Views stay valid as long as this object and the text it was made from.
class query_string {
public:
  query_string() = default;
  query_string(const query_string&) = delete;
  query_string& operator=(const query_string&) = delete;

  /// Call once. @returns false if a percent escape is malformed.
  bool parse(std::string_view raw);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The first value given; empty if there is none.
  std::string_view get(std::string_view name) const {
    const auto* p = find(name);
    return p ? p->value : std::string_view{};
  }
  std::vector<std::string> all(std::string_view name) const;
  /// Parameters in all.
  std::size_t size() const { return count_; }
  std::size_t count(std::string_view name) const;
  /// All parameters sorted by name and escaped again, valueless ones as `name=`.
  std::string encoded() const { return encoded_without({}); }
  /// The same but for those names.
  std::string encoded_without(std::span<const std::string_view> names) const;

private:
  struct parameter {
    std::string_view name, value;
  };

  const parameter& at(std::size_t i) const { return i < first_.size() ? first_[i] : rest_[i - first_.size()]; }
  const parameter* find(std::string_view name) const;
  void add(parameter p);

  // Enough for every request clients send; more go to the heap.
  std::array<parameter, 8> first_;
  std::vector<parameter> rest_;
  std::size_t count_ = 0;
  std::string decoded_;
};

} // namespace belay::golang
