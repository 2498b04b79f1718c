#pragma once
// Variants of many alternatives are slow to compile: behind each copy, move and end of one is a function for every
// alternative, in every file that has one.

namespace belay {

/// A variant whose copies, moves and end are compiled in one file: the one that includes compiled_once_here.hpp and has the
/// line `template struct compiled_once<V::plain>;` for the variant V. Without that line programs are not linked.
template <class Variant>
struct compiled_once : Variant {
  using plain = Variant;
  using Variant::Variant;
  using Variant::operator=;
  compiled_once();
  compiled_once(const compiled_once&);
  compiled_once(compiled_once&&) noexcept;
  compiled_once& operator=(const compiled_once&);
  compiled_once& operator=(compiled_once&&) noexcept;
  ~compiled_once();
};

} // namespace belay
