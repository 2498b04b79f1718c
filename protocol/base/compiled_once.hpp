#pragma once
// Variants of many alternatives are slow to compile: each copy, move and
// destructor generates a function per alternative, in every file that uses one.

namespace belay {

/// A variant whose copies, moves and destructor are compiled once: by a file with
/// compiled_once_here.hpp and `template struct compiled_once<V::plain>;`. Without that file the
/// program does not link.
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
