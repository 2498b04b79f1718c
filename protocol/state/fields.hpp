#pragma once
// Every record lists its fields once, beside its struct: fields_of<node_record>. The list names each member, what
// clients call it, and what the member's type does not tell. The rest follows from it: the bytes of the record
// (protocol/wire/record_codec.hpp), the hash of its row (row_hash.hpp), its JSON in both directions
// (protocol/http/record_json.hpp, record_input.hpp) and what `?filter` can select in it
// (protocol/http/reading/filter_fields.cpp).
//
// The order of a list is that of the bytes and of the hash. Both are stored, so that it never changes.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace belay::state {

/// A text that can be a template argument.
template <std::size_t N>
struct literal {
  char text[N] = {};
  constexpr literal(const char (&from)[N]) {
    for (std::size_t i = 0; i < N; ++i)
      text[i] = from[i];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// What the type of a member does not tell.
namespace as {
inline constexpr unsigned by_key = 1; ///< it is the key under which the row is stored, and not in the row's bytes
inline constexpr unsigned fixed = 2;  ///< a number in 8 bytes; other unsigned ones are varints
inline constexpr unsigned later = 4; ///< in bytes and hash only if it is not what a new record has (is_absent): it came
                                     ///< with version 2 of the row's bytes
inline constexpr unsigned omit_empty = 8;  ///< JSON leaves it out while it is empty
inline constexpr unsigned duration = 16;   ///< nanoseconds, in JSON a text such as "10s"
inline constexpr unsigned json = 32;       ///< JSON text, kept and shown as it is; empty: {}
inline constexpr unsigned id_objects = 64; ///< texts, in JSON objects that have the text as their ID
} // namespace as

/// One member of a record. `Name`: in JSON; empty: clients do not see it.
template <auto Member, literal Name = "", unsigned Traits = 0>
struct field;

template <class Record, class T, T Record::*Member, literal Name, unsigned Traits>
struct field<Member, Name, Traits> {
  using record = Record;
  using type = T;
  static constexpr T Record::*member = Member;
  static constexpr std::string_view name = Name.view();
  static constexpr unsigned traits = Traits;
  static constexpr bool is(unsigned trait) { return (Traits & trait) != 0; }
};

/// A tuple of fields; specialised for each record.
template <class Record>
inline constexpr int fields_of = 0;

template <class T>
concept listed = !std::is_same_v<decltype(fields_of<T>), const int>;

/// Of a member that came later: zero, or an empty list.
template <class T>
constexpr bool is_absent(const T& v) {
  if constexpr (requires { v.empty(); })
    return v.empty();
  else
    return v == T{};
}

/// Calls `f(field)` for each field in the order of the list.
template <listed Record, class F>
constexpr void for_each_field(F&& f) {
  std::apply([&](auto... each) { (f(each), ...); }, fields_of<Record>);
}

/// Of values by what they hold.
template <class T>
bool same_member(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, payload> || std::is_same_v<T, payload_ref>)
    return *a == *b;
  else
    return a == b;
}

template <listed Record>
bool same_in_all(const Record& a, const Record& b) {
  bool same = true;
  for_each_field<Record>([&](auto f) { same = same && same_member(a.*f.member, b.*f.member); });
  return same;
}

/// Whether what clients see of both is the same, but for the indexes.
template <listed Record>
bool same_but_for_indexes(const Record& a, const Record& b) {
  bool same = true;
  for_each_field<Record>([&]<class Field>(Field f) {
    if constexpr (!f.name.empty() && !std::is_same_v<typename Field::type, log_index>)
      same = same && same_member(a.*f.member, b.*f.member);
  });
  return same;
}

} // namespace belay::state
