#pragma once
// The definitions for compiled_once.hpp, for files that instantiate it.

#include "protocol/base/compiled_once.hpp"

namespace belay {

template <class Variant>
compiled_once<Variant>::compiled_once() = default;
template <class Variant>
compiled_once<Variant>::compiled_once(const compiled_once&) = default;
template <class Variant>
compiled_once<Variant>::compiled_once(compiled_once&&) noexcept = default;
template <class Variant>
compiled_once<Variant>& compiled_once<Variant>::operator=(const compiled_once&) = default;
template <class Variant>
compiled_once<Variant>& compiled_once<Variant>::operator=(compiled_once&&) noexcept = default;
template <class Variant>
compiled_once<Variant>::~compiled_once() = default;

} // namespace belay
