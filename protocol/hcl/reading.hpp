#pragma once
// The values of numbers in a document.

#include "protocol/base/result.hpp"
#include "protocol/hcl/document.hpp"

#include <cstdint>

namespace belay::hcl {

/// A whole number: decimal, hexadecimal with 0x, octal with 0; with or without a sign.
/// The error is `strconv.ParseInt: parsing "08": invalid syntax`. @pre n.is_integer
result<std::int64_t> as_integer(const number& n);
/// Error: `strconv.ParseFloat: parsing "1ex": invalid syntax` (hcl accepts some).
/// @pre !n.is_integer
result<double> as_real(const number& n);

} // namespace belay::hcl
