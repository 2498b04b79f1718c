#pragma once
// Decodes records from JSON objects: a record's list of fields
// (protocol/state/fields.hpp) defines the members and their types.

#include "protocol/go_compat/json_input.hpp"
#include "protocol/state/commands.hpp"

#include <algorithm>
#include <array>

namespace belay::http {

/// Decodes one member by its type. Derived readers handle members with other formats.
struct member_input {
  go_compat::json_decoder& d;
  const boost::json::value& value;
  std::string_view owner; ///< names the object in error texts

  /// @returns false: as if the record had no such member
  template <class Field, class T>
  bool operator()(Field, T& out) const {
    const go_compat::json_field at{owner, Field::name};
    if constexpr (Field::is(state::as::json | state::as::id_objects))
      return false;
    else if constexpr (Field::is(state::as::duration))
      d.duration_ns(value, at, out);
    else if constexpr (std::is_same_v<T, std::string>)
      d.text(value, at, out);
    else if constexpr (std::is_same_v<T, bool>)
      d.boolean(value, at, out);
    else if constexpr (std::is_same_v<T, std::int64_t>)
      d.integer(value, at, out);
    else if constexpr (std::is_same_v<T, std::uint64_t>)
      d.unsigned_integer(value, at, out);
    else if constexpr (std::is_same_v<T, log_index>)
      d.index(value, at, out);
    else if constexpr (std::is_same_v<T, std::optional<std::vector<std::string>>>)
      d.texts(value, at, out);
    else if constexpr (std::is_same_v<T, std::optional<state::string_map>>)
      d.map(value, at, out);
    else
      return false;
    return true;
  }
};

template <class Field>
inline constexpr auto lower_case_name = [] {
  std::array<char, Field::name.size()> text{};
  std::transform(Field::name.begin(), Field::name.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}();

/// Calls `read(field, member)` for the member with that lower-case name.
/// @returns false: there is no such member, or `read` rejects it
template <state::listed Record, class Read>
bool decode_member(std::string_view name, Record& out, const Read& read) {
  const auto is_it = [&]<class Field>(Field f) {
    if constexpr (Field::name.empty())
      return false;
    else {
      constexpr const auto& own = lower_case_name<Field>;
      return name == std::string_view(own.data(), own.size()) && read(f, out.*Field::member);
    }
  };
  return std::apply([&](auto... each) { return (is_it(each) || ...); }, state::fields_of<Record>);
}

} // namespace belay::http
