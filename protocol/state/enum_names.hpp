#pragma once
// The names of an enum's values, listed beside the enum: `names_of<kv_verb>`. They define
// name_of(), its inverse named(), and the number of values, which bounds values decoded from bytes.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace belay::state {

/// An array of names in the order of the values, which begin at 0; specialized for each named enum.
template <class Enum>
inline constexpr int names_of = 0;

template <class Enum>
concept named_enum = std::is_enum_v<Enum> && !std::is_same_v<decltype(names_of<Enum>), const int>;

template <named_enum Enum>
inline constexpr std::size_t count_of = names_of<Enum>.size();

/// @pre `e` is a value of its enum
template <named_enum Enum>
constexpr std::string_view name_of(Enum e) {
  return names_of<Enum>[static_cast<std::size_t>(e)];
}

/// The value with that name. @returns nullopt: there is none
template <named_enum Enum>
constexpr std::optional<Enum> named(std::string_view name) {
  for (std::size_t i = 0; i < count_of<Enum>; ++i)
    if (names_of<Enum>[i] == name)
      return static_cast<Enum>(i);
  return std::nullopt;
}

} // namespace belay::state
