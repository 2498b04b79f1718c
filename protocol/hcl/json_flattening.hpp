#pragma once
// Names of JSON that are labels in HCL: {"key": {"a": {"policy": "read"}}} comes out as `key "a" { policy = "read" }` does.

#include "protocol/hcl/parser.hpp"

#include <cstddef>
#include <optional>

namespace belay::hcl {

/// Stands for null while the document is not finished.
number json_null();

/// From the outermost object inwards, as hcl does: an item whose value is an object of nothing but objects, or a list of nothing but objects,
/// becomes one item for each of them, with its own names before theirs. Then items whose value is null are left out.
/// @returns an error if the names that are repeated take more than `label_bytes_max`: many names below a long one take the square of the text
/// @pre the document is not nested deeper than stack allows
std::optional<error> flatten(object& document, std::size_t label_bytes_max);

} // namespace belay::hcl
