#pragma once
// The payload of no bytes, which many may hold.

#include "protocol/base/payload.hpp"

namespace belay {

/// Not null, and always the same piece of memory.
inline const payload& empty_payload() {
  static const payload none = make_payload({});
  return none;
}

} // namespace belay
