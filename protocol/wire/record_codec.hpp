#pragma once
// Encoding of records: the members in the order of the record's list of fields
// (protocol/state/fields.hpp), each by its type. Errors are left in the byte_reader.
//
//   type of the member         bytes
//   -------------------------
// ------------------------------------------------------------------------------------
//   bool                       u8: 0 or 1
//   enum                       u8: the value
//   signed number              8 bytes, little-endian
//   unsigned number            varint; marked as::fixed: 8 bytes, little-endian
//   log_index, cluster_time    varint
//   text, payload              varint length | the bytes; no payload: like an empty one
//   optional                   u8: 0, or 1 and the value
//   vector                     varint count | the elements
//   map                        varint count | text name and value of each, ascending by name
//   variant                    u8: position of the alternative | its value
//   another record             its members
//   batch of rows              varint count | { u8 state::table | text key | text row } of each
//   kept reply                 u8: 0, or 1 and the reply (command_codec.hpp) as a text
//   kv_op                      its members; for the verb `add` then amount, min, max
//
// Members marked as::by_key, as::later, as::latest and as::apart are not part
// of a record's bytes: see command_codec.cpp and registration_codec.cpp.

#include "protocol/base/bytes.hpp"
#include "protocol/state/commands.hpp"

namespace belay::wire {

namespace detail {
template <class T>
inline constexpr bool is_strong_id = false;
template <class Tag>
inline constexpr bool is_strong_id<strong_id<Tag>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;
template <class>
inline constexpr bool has_no_layout = false;
} // namespace detail

/// Number of elements that follow. Each has at least one byte, so a number above that of the
/// remaining bytes is an error.
std::size_t read_count(byte_reader& r);

using kept_answer = std::shared_ptr<const state::reply>;

void write_batch(byte_writer& w, const state::row_batch& rows);
void read_batch(byte_reader& r, state::row_batch& rows);
void write_answer(byte_writer& w, const kept_answer& answer);
void read_answer(byte_reader& r, kept_answer& answer);

template <state::listed Record>
void write_record(byte_writer& w, const Record& record);
template <state::listed Record>
void read_record(byte_reader& r, Record& record);

/// Encodes a member by its type; `Traits` are those of its field. read_value() is the inverse,
/// alternative by alternative.
template <unsigned Traits = 0, class T>
void write_value(byte_writer& w, const T& v) {
  if constexpr (std::is_same_v<T, std::monostate>)
    return;
  else if constexpr (std::is_same_v<T, bool>)
    w.boolean(v);
  else if constexpr (std::is_enum_v<T>)
    w.u8(static_cast<std::uint8_t>(v));
  else if constexpr (std::is_same_v<T, std::int64_t>)
    w.u64(static_cast<std::uint64_t>(v));
  else if constexpr (std::is_same_v<T, std::uint64_t> && (Traits & state::as::fixed) != 0)
    w.u64(v);
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    w.varint(v);
  else if constexpr (detail::is_strong_id<T>)
    w.varint(v.value);
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
    w.text(v);
  else if constexpr (std::is_same_v<T, payload> || std::is_same_v<T, payload_ref>)
    w.text(view_of(v));
  else if constexpr (std::is_same_v<T, state::row_batch>)
    write_batch(w, v);
  else if constexpr (std::is_same_v<T, kept_answer>)
    write_answer(w, v);
  else if constexpr (detail::is_optional<T>) {
    w.boolean(v.has_value());
    if (v)
      write_value(w, *v);
  } else if constexpr (detail::is_vector<T>) {
    w.varint(v.size());
    for (const auto& each : v)
      write_value(w, each);
  } else if constexpr (detail::is_map<T>) {
    w.varint(v.size());
    for (const auto& [name, value] : v) {
      w.text(name);
      write_value(w, value);
    }
  } else if constexpr (detail::is_variant<T>) {
    w.u8(static_cast<std::uint8_t>(v.index()));
    std::visit([&](const auto& each) { write_value(w, each); }, v);
  } else if constexpr (state::listed<T>)
    write_record(w, v);
  else
    static_assert(detail::has_no_layout<T>);
}

template <unsigned Traits = 0, class T>
void read_value(byte_reader& r, T& v);

/// The alternative at that position; an error if there is none.
template <class... Ts>
void read_alternative(byte_reader& r, std::size_t alternative, std::variant<Ts...>& v) {
  const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((alternative == I ? (read_value(r, v.template emplace<I>()), true) : false) || ...);
  }
  (std::index_sequence_for<Ts...>{});
  if (!known)
    r.fail();
}

/// The inverse of write_value(). Invalid input makes `r` fail.
template <unsigned Traits, class T>
void read_value(byte_reader& r, T& v) {
  if constexpr (std::is_same_v<T, std::monostate>)
    return;
  else if constexpr (std::is_same_v<T, bool>)
    v = r.boolean();
  else if constexpr (state::named_enum<T>) {
    const auto number = r.u8();
    if (number >= state::count_of<T>)
      r.fail();
    v = r.ok() ? static_cast<T>(number) : T{};
  } else if constexpr (std::is_same_v<T, std::int64_t>)
    v = static_cast<std::int64_t>(r.u64());
  else if constexpr (std::is_same_v<T, std::uint64_t> && (Traits & state::as::fixed) != 0)
    v = r.u64();
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    v = r.varint();
  else if constexpr (detail::is_strong_id<T>)
    v = T{r.varint()};
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>)
    v = r.text(); // a view into the input
  else if constexpr (std::is_same_v<T, payload>)
    v = make_payload(r.text());
  else if constexpr (std::is_same_v<T, state::row_batch>)
    read_batch(r, v);
  else if constexpr (std::is_same_v<T, kept_answer>)
    read_answer(r, v);
  else if constexpr (detail::is_optional<T>) {
    v.reset();
    if (r.boolean())
      read_value(r, v.emplace());
  } else if constexpr (detail::is_vector<T>) {
    v.clear();
    for (auto n = read_count(r); n > 0 && r.ok(); --n)
      read_value(r, v.emplace_back());
  } else if constexpr (detail::is_map<T>) {
    v.clear();
    for (auto n = read_count(r); n > 0 && r.ok(); --n) {
      std::string name(r.text());
      read_value(r, v[std::move(name)]);
    }
  } else if constexpr (detail::is_variant<T>)
    read_alternative(r, r.u8(), v);
  else if constexpr (state::listed<T>)
    read_record(r, v);
  else
    static_assert(detail::has_no_layout<T>);
}

template <class Field>
inline constexpr bool is_written =
    !Field::is(state::as::by_key | state::as::later | state::as::latest | state::as::apart);

/// Calls `write(field, value)` for each member that is part of the record's bytes.
template <state::listed Record, class Write>
void for_each_written(const Record& record, Write write) {
  state::for_each_field<Record>([&](auto f) {
    if constexpr (is_written<decltype(f)>)
      write(f, record.*f.member);
  });
}

template <state::listed Record>
void write_record(byte_writer& w, const Record& record) {
  static_assert(state::lists_every_member<Record>, "a member of the record is not in its list, or is there twice");
  for_each_written(record, [&](auto f, const auto& value) { write_value<f.traits>(w, value); });
  if constexpr (std::is_same_v<Record, state::kv_op>)
    if (record.verb == state::kv_verb::add) {
      write_value(w, record.amount);
      write_value(w, record.min);
      write_value(w, record.max);
    }
}

template <state::listed Record>
void read_record(byte_reader& r, Record& record) {
  state::for_each_field<Record>([&](auto f) {
    if constexpr (is_written<decltype(f)>)
      read_value<f.traits>(r, record.*f.member);
  });
  if constexpr (std::is_same_v<Record, state::kv_op>)
    if (record.verb == state::kv_verb::add) {
      read_value(r, record.amount);
      read_value(r, record.min);
      read_value(r, record.max);
    }
}

} // namespace belay::wire
