#include "protocol/base/payload.hpp"

#include <cstddef>

namespace belay {

void payload::block::end() noexcept {
  if ((size_and_flag & hosted) == 0) {
    ::operator delete(this);
    return;
  }
  auto* host = reinterpret_cast<hosted_bytes*>(reinterpret_cast<char*>(this) - offsetof(hosted_bytes, block_));
  host->end_(*host);
}

} // namespace belay
