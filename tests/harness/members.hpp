#pragma once
// The members of an aggregate, found by the compiler and not through a list: a test that visits them sees a member that
// every list of the product has forgotten.

#include "protocol/state/fields.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::harness {

/// References to all members, in the order of their declaration. @pre an aggregate without bases, of at most 24 members
template <class T>
auto members_of(T& object) {
  constexpr auto n = state::detail::member_count<std::remove_const_t<T>>();
  static_assert(n <= 24, "one more line is needed here");
  // clang-format off
#define BELAY_MEMBERS(N, ...) else if constexpr (n == N) { auto& [__VA_ARGS__] = object; return std::tie(__VA_ARGS__); }
  if constexpr (n == 0) return std::tuple<>();
  BELAY_MEMBERS(1, a)
  BELAY_MEMBERS(2, a, b)
  BELAY_MEMBERS(3, a, b, c)
  BELAY_MEMBERS(4, a, b, c, d)
  BELAY_MEMBERS(5, a, b, c, d, e)
  BELAY_MEMBERS(6, a, b, c, d, e, g)
  BELAY_MEMBERS(7, a, b, c, d, e, g, h)
  BELAY_MEMBERS(8, a, b, c, d, e, g, h, i)
  BELAY_MEMBERS(9, a, b, c, d, e, g, h, i, j)
  BELAY_MEMBERS(10, a, b, c, d, e, g, h, i, j, k)
  BELAY_MEMBERS(11, a, b, c, d, e, g, h, i, j, k, l)
  BELAY_MEMBERS(12, a, b, c, d, e, g, h, i, j, k, l, m)
  BELAY_MEMBERS(13, a, b, c, d, e, g, h, i, j, k, l, m, o)
  BELAY_MEMBERS(14, a, b, c, d, e, g, h, i, j, k, l, m, o, p)
  BELAY_MEMBERS(15, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q)
  BELAY_MEMBERS(16, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r)
  BELAY_MEMBERS(17, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s)
  BELAY_MEMBERS(18, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t)
  BELAY_MEMBERS(19, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u)
  BELAY_MEMBERS(20, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v)
  BELAY_MEMBERS(21, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w)
  BELAY_MEMBERS(22, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x)
  BELAY_MEMBERS(23, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y)
  BELAY_MEMBERS(24, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z)
#undef BELAY_MEMBERS
  // clang-format on
}

/// Calls `f` with each pair of members of two objects of one type.
template <class Tuple, class F>
void for_each_pair(const Tuple& a, const Tuple& b, F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::get<I>(a), std::get<I>(b)), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

} // namespace belay::harness
