#pragma once
// Every record lists its fields once, beside its struct: fields_of<node_record>. The list has
// each member, its name for clients, and what the member's type does not express. Everything else
// derives from it: the bytes of the record (protocol/wire/record_codec.hpp), the hash of its row
// (row_hash.hpp), its JSON in both directions (protocol/http/record_json.hpp, record_input.hpp)
// and what `?filter` can select in it (protocol/http/reading/filter_fields.cpp).
//
// The order of a list is that of the bytes and of the hash. Both are stored, so it never changes.
// A list has every member; otherwise it does not compile (lists_every_member). Traits say which
// members are not part of the bytes or the hash, with the reason beside the trait or the member.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

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

/// Properties that the type of a member does not express.
namespace as {
/// The member is the row's key. It is part of the hash. It is part of the row's bytes only if the
/// record is in a result, which has no separate key.
inline constexpr unsigned by_key = 1;
inline constexpr unsigned fixed = 2; ///< a number in 8 bytes; other unsigned ones are varints
/// Added in version 2 of the row's bytes: in bytes and hash only if not absent (is_absent). Never
/// in the bytes of results, because servers up to 0.1 read those, nor in the hash of a kept result.
inline constexpr unsigned later = 4;
inline constexpr unsigned omit_empty = 8;  ///< omitted from JSON if empty
inline constexpr unsigned duration = 16;   ///< nanoseconds, in JSON a text such as "10s"
inline constexpr unsigned json = 32;       ///< JSON text, stored and shown as given; empty: {}
inline constexpr unsigned id_objects = 64; ///< texts; in JSON, objects that have the text as their ID
/// Computed from the other members: not part of bytes, hash, comparison
/// or JSON (for_each_field skips it). It must be last in the list.
inline constexpr unsigned derived = 128;
/// The same for version 3 of the row's bytes (0.3.0), for records that had as::later members.
inline constexpr unsigned latest = 512;
inline constexpr unsigned apart = 256; ///< not in the record's bytes: written separately, before them
} // namespace as

/// One member of a record. `Name`: in JSON; empty: clients do not see it.
template <auto Member, literal Name = "", unsigned Traits = 0>
struct field;

template <class Record, class T, T Record::*Member, literal Name, unsigned Traits>
struct field<Member, Name, Traits> {
  using record = Record;
  using type = T;
  using which = std::integral_constant<T Record::*, Member>;
  static constexpr T Record::*member = Member;
  static constexpr std::string_view name = Name.view();
  static constexpr unsigned traits = Traits;
  static constexpr bool is(unsigned trait) { return (Traits & trait) != 0; }
};

/// A tuple of fields; specialized for each record.
template <class Record>
inline constexpr int fields_of = 0;

template <class T>
concept listed = !std::is_same_v<decltype(fields_of<T>), const int>;

/// Whether a member that was added later is zero, or an empty list.
template <class T>
constexpr bool is_absent(const T& v) {
  if constexpr (requires { v.empty(); })
    return v.empty();
  else
    return v == T{};
}

namespace detail {
struct any_member {
  template <class T>
  operator T() const noexcept; // never defined
};
template <class Record, std::size_t... I>
constexpr bool is_made_of(std::index_sequence<I...>) {
  return requires {
    Record{(static_cast<void>(I), any_member{})...};
  };
}
/// Number of members of an aggregate.
template <class Record, std::size_t N = 0>
consteval std::size_t member_count() {
  if constexpr (is_made_of<Record>(std::make_index_sequence<N + 1>()))
    return member_count<Record, N + 1>();
  else
    return N;
}
/// Whether each member is in the list at most once.
template <class... Fields>
consteval bool names_each_once(std::tuple<Fields...>) {
  const auto times = []<class Field>(Field) {
    return (std::size_t{std::is_same_v<typename Field::which, typename Fields::which>} + ...);
  };
  return ((times(Fields{}) == 1) && ...);
}
} // namespace detail

/// Whether the list has each member of the record, once.
template <listed Record>
inline constexpr bool lists_every_member = std::tuple_size_v<std::remove_const_t<decltype(fields_of<Record>)>> ==
                                               detail::member_count<Record>() &&
                                           detail::names_each_once(fields_of<Record>);

/// Calls `f(field)` for each field that is not derived, in list order.
template <listed Record, class F>
constexpr void for_each_field(F&& f) {
  const auto call = [&](auto each) {
    if constexpr (!each.is(as::derived))
      f(each);
  };
  std::apply([&](auto... each) { (call(each), ...); }, fields_of<Record>);
}

/// Whether any field of the record has that trait.
template <listed Record>
consteval bool has_fields(unsigned trait) {
  bool found = false;
  for_each_field<Record>([&](auto f) { found = found || f.is(trait); });
  return found;
}

/// Compares members by what they contain.
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

/// Whether clients see the same in both, apart from the indexes.
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
