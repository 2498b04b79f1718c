#pragma once
// Selectable fields of a kind of rows, and how to read them without rendering a row as JSON.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/payload.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace belay::filter {

enum class field_kind : std::uint8_t {
  text,       ///< == != in (part of it) matches
  integer,    ///< == !=
  natural,    ///< == !=
  boolean,    ///< == !=
  texts,      ///< in, is empty
  text_map,   ///< in (is a key), is empty; a key selects a text
  object,     ///< only its fields
  objects,    ///< is empty; its fields, of which any may match
  object_map, ///< in (is a key), is empty; a key selects an object
};

/// An object: its fields read it through this pointer.
struct row_ref {
  const void* row = nullptr;
};
struct row_list {
  const void* list = nullptr;
  std::size_t size = 0;
  row_ref (*at)(const void* list, std::size_t i) = nullptr;
};
struct row_map {
  const void* map = nullptr; ///< null: empty
  std::size_t size = 0;
  row_ref (*find)(const void* map, std::string_view key) = nullptr; ///< null row: no such key
};
/// An object stored as JSON. Fields are read by name; missing ones are empty, 0 or false.
struct json_object {
  std::string_view text;
};

using text_list = std::vector<std::string>;
using text_map = std::map<std::string, std::string>;

/// Value of a field in one row; views are valid as long as the row. Null pointers are empty.
using field_value = std::variant<std::string_view, std::int64_t, std::uint64_t, bool, const text_list*, const text_map*,
                                 row_ref, row_list, row_map, json_object>;

struct field {
  std::string_view name;
  field_kind kind = field_kind::text;
  field_value (*read)(const void* row) = nullptr; ///< null below a json_object
  std::span<const field> fields = {};             ///< members of an object, objects or object_map
};
using fields = std::span<const field>;

// ---- fields by pointers to members; follows shared pointers

namespace detail {

template <class>
struct member_of;
template <class Row, class T>
struct member_of<T Row::*> {
  using row = Row;
};

template <class T>
const T& followed(const T& value) {
  return value;
}
template <class T>
const T& followed(const std::shared_ptr<const T>& pointer) {
  return *pointer;
}

template <class Row>
const auto& reach(const Row& row) {
  return row;
}
template <auto First, auto... Rest, class Row>
const auto& reach(const Row& row) {
  return reach<Rest...>(followed(row.*First));
}

template <auto First, auto... Rest>
const auto& reach_from(const void* row) {
  return reach<First, Rest...>(*static_cast<const typename member_of<decltype(First)>::row*>(row));
}

template <class T>
constexpr field_kind kind_of() {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> || std::is_same_v<T, payload_ref>)
    return field_kind::text;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return field_kind::integer;
  else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_same_v<T, log_index>)
    return field_kind::natural;
  else if constexpr (std::is_same_v<T, bool>)
    return field_kind::boolean;
  else if constexpr (std::is_same_v<T, text_list> || std::is_same_v<T, std::optional<text_list>>)
    return field_kind::texts;
  else {
    static_assert(std::is_same_v<T, text_map> || std::is_same_v<T, std::optional<text_map>>);
    return field_kind::text_map;
  }
}

inline field_value value_of(const std::string& v) {
  return std::string_view(v);
}
inline field_value value_of(std::string_view v) {
  return v;
}
inline field_value value_of(payload_ref v) {
  return *v;
}
inline field_value value_of(std::int64_t v) {
  return v;
}
inline field_value value_of(std::uint64_t v) {
  return v;
}
inline field_value value_of(log_index v) {
  return v.value;
}
inline field_value value_of(bool v) {
  return v;
}
template <class T>
requires std::is_same_v<T, text_list> || std::is_same_v<T, text_map> field_value value_of(const T& v) {
  return &v;
}
template <class T>
field_value value_of(const std::optional<T>& v) {
  return v ? &*v : static_cast<const T*>(nullptr);
}

} // namespace detail

/// A member that is a value; its type determines the kind.
template <auto... Path>
constexpr field member(std::string_view name) {
  using type = std::remove_cvref_t<decltype(detail::reach_from<Path...>(nullptr))>;
  return {name, detail::kind_of<type>(),
          [](const void* row) { return detail::value_of(detail::reach_from<Path...>(row)); }};
}

/// An object in the row or behind a shared pointer; `of`: its fields. No path: the row itself.
template <auto... Path>
constexpr field object(std::string_view name, fields of) {
  return {name, field_kind::object,
          [](const void* row) -> field_value {
            if constexpr (sizeof...(Path) == 0)
              return row_ref{row};
            else
              return row_ref{&detail::reach_from<Path...>(row)};
          },
          of};
}

/// A vector of objects, or of shared pointers to them.
template <auto... Path>
constexpr field objects(std::string_view name, fields of) {
  return {name, field_kind::objects,
          [](const void* row) -> field_value {
            const auto& list = detail::reach_from<Path...>(row);
            return row_list{&list, list.size(), [](const void* of_rows, std::size_t i) {
                              const auto& rows = *static_cast<decltype(&list)>(of_rows);
                              return row_ref{&detail::followed(rows[i])};
                            }};
          },
          of};
}

/// An optional map from texts to objects.
template <auto... Path>
constexpr field object_map(std::string_view name, fields of) {
  return {name, field_kind::object_map,
          [](const void* row) -> field_value {
            const auto& map = detail::reach_from<Path...>(row);
            if (!map)
              return row_map{};
            return row_map{&*map, map->size(), [](const void* of_rows, std::string_view key) {
                             const auto& rows = *static_cast<decltype(&*map)>(of_rows);
                             const auto found = rows.find(std::string(key));
                             return row_ref{found == rows.end() ? nullptr : &found->second};
                           }};
          },
          of};
}

/// An object stored as JSON text; `of` are read by name, made by json_member.
template <auto... Path>
constexpr field json(std::string_view name, fields of) {
  return {name, field_kind::object,
          [](const void* row) -> field_value { return json_object{detail::reach_from<Path...>(row)}; }, of};
}

/// Below json: text, integer, boolean, object or objects.
constexpr field json_member(std::string_view name, field_kind kind, fields of = {}) {
  return {name, kind, nullptr, of};
}

} // namespace belay::filter
