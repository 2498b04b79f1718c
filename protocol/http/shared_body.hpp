#pragma once
// The body of an answer that is too large to be copied for each client: it never changes, and all whose answer it is hold the same.

#include "protocol/base/bytes.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace belay::http {

struct shared_body {
  std::vector<payload> pieces; ///< in order; none is null or empty
  std::size_t size = 0;        ///< of all pieces
  bool gzip = false;           ///< these are bytes of the content encoding gzip
};
using shared_body_ptr = std::shared_ptr<const shared_body>;

} // namespace belay::http
