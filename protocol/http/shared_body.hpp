#pragma once
// The body of a response that is too large to copy for each client: immutable and shared.

#include "protocol/base/bytes.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace belay::http {

struct shared_body {
  std::vector<payload> pieces; ///< in order; none is null or empty
  std::size_t size = 0;        ///< size of all pieces
  bool gzip = false;           ///< content encoding gzip
};
using shared_body_ptr = std::shared_ptr<const shared_body>;

} // namespace belay::http
