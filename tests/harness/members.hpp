#pragma once
// The members of an aggregate, found by the compiler and not through a list. A test that visits
// them sees members that the product's lists lack.

#include "protocol/state/fields.hpp"

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::harness {

/// References to all members, in declaration order. @pre an aggregate of <= 30, without bases
template <class T>
auto members_of(T& object) {
  constexpr auto n = state::detail::member_count<std::remove_const_t<T>>();
  static_assert(n <= 30, "one more line is needed here");
  // clang-format off
#define BELAY_MEMBERS(N, ...) else if constexpr (n == N) { auto& [__VA_ARGS__] = object; return std::tie(__VA_ARGS__); }
  if constexpr (n == 0) return std::tuple<>();
  BELAY_MEMBERS(1, m1)
  BELAY_MEMBERS(2, m1, m2)
  BELAY_MEMBERS(3, m1, m2, m3)
  BELAY_MEMBERS(4, m1, m2, m3, m4)
  BELAY_MEMBERS(5, m1, m2, m3, m4, m5)
  BELAY_MEMBERS(6, m1, m2, m3, m4, m5, m6)
  BELAY_MEMBERS(7, m1, m2, m3, m4, m5, m6, m7)
  BELAY_MEMBERS(8, m1, m2, m3, m4, m5, m6, m7, m8)
  BELAY_MEMBERS(9, m1, m2, m3, m4, m5, m6, m7, m8, m9)
  BELAY_MEMBERS(10, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10)
  BELAY_MEMBERS(11, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11)
  BELAY_MEMBERS(12, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12)
  BELAY_MEMBERS(13, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13)
  BELAY_MEMBERS(14, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14)
  BELAY_MEMBERS(15, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15)
  BELAY_MEMBERS(16, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16)
  BELAY_MEMBERS(17, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17)
  BELAY_MEMBERS(18, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18)
  BELAY_MEMBERS(19, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19)
  BELAY_MEMBERS(20, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20)
  BELAY_MEMBERS(21, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21)
  BELAY_MEMBERS(22, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22)
  BELAY_MEMBERS(23, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23)
  BELAY_MEMBERS(24, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24)
  BELAY_MEMBERS(25, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25)
  BELAY_MEMBERS(26, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26)
  BELAY_MEMBERS(27, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27)
  BELAY_MEMBERS(28, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28)
  BELAY_MEMBERS(29, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29)
  BELAY_MEMBERS(30, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30)
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
