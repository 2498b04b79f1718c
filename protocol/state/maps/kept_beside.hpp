#pragma once
// Data that a table derives from its rows: sums, counters, indexes, reverse lists. No checkpoint
// or digest has them, so an error lasts until the next start. Tables list them in beside(), and
// protocol/state/recount recomputes them. A member missing from a list does not compile there.

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

namespace belay::state {

/// One of them, with its name.
template <class T>
struct kept_member {
  using value_type = T;

  std::string_view name;
  const T& value;
};
template <class T>
kept_member(std::string_view, const T&) -> kept_member<T>;

/// `std::tuple<kept_member<A>, kept_member<B>, ...>` as `std::tuple<A, B, ...>`.
template <class List>
struct values_of_list;
template <class... T>
struct values_of_list<std::tuple<kept_member<T>...>> {
  using type = std::tuple<T...>;
  static constexpr std::size_t bytes = (sizeof(T) + ... + 0);
};
template <class Table>
using values_beside = values_of_list<decltype(std::declval<const Table&>().beside())>;

} // namespace belay::state
