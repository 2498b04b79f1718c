#pragma once
// Records as JSON objects: a record's fields (protocol/state/fields.hpp) define members and
// names. If responses show a record in several ways, each is a view (names, order, omissions).

#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/state/commands.hpp"

#include <array>
#include <utility>

namespace belay::http {

// ---- order: that of the list, except for some members

/// The member `name` follows the member `behind`.
struct moved {
  std::string_view name, behind;
};

template <state::listed Record>
inline constexpr std::size_t field_count = std::tuple_size_v<std::remove_const_t<decltype(state::fields_of<Record>)>>;

/// Indexes into the list of fields, in the order shown. Moves are applied one after another.
template <state::listed Record, std::size_t N = 0>
constexpr std::array<std::size_t, field_count<Record>> order_of(const std::array<moved, N>& moves = {}) {
  std::array<std::string_view, field_count<Record>> names;
  std::array<std::size_t, field_count<Record>> order{};
  state::for_each_field<Record>([&, i = std::size_t{0}](auto f) mutable { names[i++] = f.name; });
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  const auto index_of = [&](std::string_view name) {
    std::size_t at = 0;
    while (names[order[at]] != name)
      ++at; // past the end: no such member, a compile error
    return at;
  };
  for (const auto& m : moves) {
    for (auto at = index_of(m.name); at + 1 < order.size(); ++at)
      std::swap(order[at], order[at + 1]);
    for (auto at = order.size() - 1; at > index_of(m.behind) + 1; --at)
      std::swap(order[at], order[at - 1]);
  }
  return order;
}

template <state::listed Record>
inline constexpr auto list_order = order_of<Record>();

// ---- members

template <class Record, const auto& Order, class View>
void append_members(std::string& out, const Record& record, const View& view);

inline bool is_empty(std::string_view v) {
  return v.empty();
}
template <class T>
bool is_empty(const std::optional<T>& v) {
  return !v || v->empty();
}

/// Every named member, under its name. Other views derive from this one and override parts.
struct record_view {
  bool empty_lists = false; ///< show absent lists and maps as [] and {}, not null
  bool empty_maps = false;

  template <class Field>
  static constexpr std::string_view name() {
    return Field::name;
  }
  template <class Field, class T>
  static bool shows(Field, const T& v) {
    if constexpr (Field::is(state::as::omit_empty))
      return !is_empty(v);
    else
      return true;
  }
  template <class Field, class T>
  void append(std::string& out, Field, const T& v) const {
    if constexpr (Field::is(state::as::json))
      out += v.empty() ? std::string_view("{}") : std::string_view(v);
    else if constexpr (Field::is(state::as::duration))
      go_compat::append_json_string(out, go_compat::format_duration(std::chrono::nanoseconds(v)));
    else
      append_value(out, v);
  }

private:
  void append_value(std::string& out, std::string_view v) const { go_compat::append_json_string(out, v); }
  void append_value(std::string& out, bool v) const { go_compat::append_bool(out, v); }
  void append_value(std::string& out, std::int64_t v) const { go_compat::append_number(out, v); }
  void append_value(std::string& out, std::uint64_t v) const { go_compat::append_number(out, v); }
  void append_value(std::string& out, log_index v) const { go_compat::append_number(out, v); }
  template <state::named_enum Enum>
  void append_value(std::string& out, Enum v) const {
    go_compat::append_json_string(out, name_of(v));
  }
  void append_value(std::string& out, const std::optional<std::vector<std::string>>& v) const {
    if (!v && empty_lists)
      out += "[]";
    else
      go_compat::append_json_strings(out, v);
  }
  void append_value(std::string& out, const std::optional<state::string_map>& v) const {
    if (!v && empty_maps)
      out += "{}";
    else
      go_compat::append_json_map(out, v);
  }
  template <state::listed Record>
  void append_value(std::string& out, const std::optional<std::map<std::string, Record>>& v) const {
    if (!v) {
      out += empty_maps ? "{}" : "null";
      return;
    }
    char lead = '{';
    for (const auto& [key, record] : *v) {
      out += lead;
      lead = ',';
      go_compat::append_json_string(out, key);
      out += ':';
      append_value(out, record);
    }
    out += lead == '{' ? "{}" : "}";
  }
  template <state::listed Record>
  void append_value(std::string& out, const Record& record) const;
};

// ---- objects

/// `,"Name":` as one text, computed at compile time.
template <class View, class Field>
inline constexpr auto member_lead = [] {
  constexpr auto name = View::template name<Field>();
  std::array<char, name.size() + 4> text{};
  text[0] = ',', text[1] = '"';
  for (std::size_t i = 0; i < name.size(); ++i)
    text[i + 2] = name[i];
  text[name.size() + 2] = '"', text[name.size() + 3] = ':';
  return text;
}();

/// Appends `,"Name":value` for each member. Order: indexes into the list of fields.
template <class Record, const auto& Order, class View>
void append_members(std::string& out, const Record& record, const View& view) {
  const auto append_one = [&]<class Field>(Field f) {
    if constexpr (!Field::name.empty()) {
      const auto& value = record.*Field::member;
      if (!view.shows(f, value))
        return;
      constexpr const auto& lead = member_lead<View, Field>;
      out.append(lead.data(), lead.size());
      view.append(out, f, value);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (append_one(std::get<Order[I]>(state::fields_of<Record>)), ...);
  }
  (std::make_index_sequence<Order.size()>{});
}

/// Turns the members appended from `begin` on into an object.
inline void close_object(std::string& out, std::size_t begin) {
  if (begin == out.size())
    out += '{';
  out[begin] = '{';
  out += '}';
}

template <class Record, const auto& Order = list_order<Record>, class View = record_view>
void append_object(std::string& out, const Record& record, const View& view = {}) {
  const auto begin = out.size();
  append_members<Record, Order>(out, record, view);
  close_object(out, begin);
}

template <state::listed Record>
void record_view::append_value(std::string& out, const Record& record) const {
  append_object(out, record, record_view{});
}

} // namespace belay::http
