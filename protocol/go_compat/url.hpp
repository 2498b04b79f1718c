#pragma once
// Request targets: escapes, path cleaning, query strings (docs/contract/01, sections 2 and 6).

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::go_compat {

/// Decodes %XX once and keeps '+'. @returns false: malformed escape; `out` is then unspecified.
bool decode_path(std::string_view escaped, std::string& out);
/// Removes empty, "." and ".." segments; keeps a trailing slash.
std::string clean_path(std::string_view path);
/// Whether clean_path(path) == path, without building it.
bool is_clean_path(std::string_view path);
/// Escapes a path for a request or a Location header; inverse of decode_path. Keeps slashes.
std::string escape_path(std::string_view path);
/// Escapes a name or value after '?'; a space becomes '+'.
std::string escape_query(std::string_view text);
/// Whether no character is a control, a separator except space, or unassigned. Skips bad UTF-8.
bool is_printable(std::string_view path);

/// The decoded parameters after '?'. Views are valid as long as this object and its source text.
class query_string {
public:
  query_string() = default;
  query_string(const query_string&) = delete;
  query_string& operator=(const query_string&) = delete;

  /// Call once. @returns false: a percent escape is malformed.
  bool parse(std::string_view raw);

  bool has(std::string_view name) const { return might_have(name) && find(name) != nullptr; }
  /// The first value; empty if there is none.
  std::string_view get(std::string_view name) const {
    const auto* p = might_have(name) ? find(name) : nullptr;
    return p ? p->value : std::string_view{};
  }
  std::vector<std::string> all(std::string_view name) const;
  /// Number of all parameters.
  std::size_t size() const { return count_; }
  std::size_t count(std::string_view name) const;
  /// All parameters sorted by name and escaped again, those without a value as `name=`.
  std::string encoded() const { return encoded_without({}); }
  /// The same without the parameters of those names.
  std::string encoded_without(std::span<const std::string_view> names) const;

private:
  struct parameter {
    std::string_view name, value;
  };

  /// A request is asked for twenty names, and has few of them: most questions end at one bit.
  static constexpr std::uint64_t bit_of(std::string_view name) {
    return std::uint64_t{1} << (name.empty() ? 0 : (name.size() * 5 + static_cast<unsigned char>(name[0])) % 64);
  }
  bool might_have(std::string_view name) const { return (names_ & bit_of(name)) != 0; }
  const parameter& at(std::size_t i) const { return i < first_.size() ? first_[i] : rest_[i - first_.size()]; }
  const parameter* find(std::string_view name) const;
  void add(parameter p);

  // Enough for typical requests; more go to the heap.
  std::array<parameter, 8> first_;
  std::vector<parameter> rest_;
  std::size_t count_ = 0;
  std::uint64_t names_ = 0; ///< the bits of their names
  std::string decoded_;
};

} // namespace belay::go_compat
