#pragma once
// The format in which keys are exported from one cluster and imported into another.

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::cli {

struct exported_key {
  std::string key;
  std::uint64_t flags = 0;
  std::string value;       ///< decoded
  std::uint64_t index = 0; ///< `ModifyIndex`, in lists of the API; never written
  bool operator==(const exported_key&) const = default;
};

/// A JSON array, indented by tabs, with a line break at the end.
std::string write_export(const std::vector<exported_key>& keys);

/// The names of members may be in any case. Failures: `Cannot unmarshal data: ...`,
/// `Error base 64 decoding value for key K: ...`.
result<std::vector<exported_key>> read_export(std::string_view text);

} // namespace belay::cli
