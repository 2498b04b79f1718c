#pragma once
// JSON names that are labels in HCL: {"key": {"a": {"b": "c"}}} is `key "a" { b = "c" }`.

#include "protocol/hcl/parser.hpp"

#include <cstddef>
#include <optional>

namespace belay::hcl {

/// Represents null until the document is finished.
number json_null();

/// Works from the outermost object inwards, as hcl does. An item whose value is an object or list
/// of only objects becomes an item for each, prefixed by its own names. Then omits null values.
/// @returns an error if repeated names take more than `label_bytes_max`: quadratic for long names
/// @pre the document is not nested deeper than the stack permits
std::optional<error> flatten(object& document, std::size_t label_bytes_max);

} // namespace belay::hcl
