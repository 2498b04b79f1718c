#pragma once
// The empty payload, shared.

#include "protocol/base/payload.hpp"

namespace belay {

/// Not null, and always the same block of memory.
inline const payload& empty_payload() {
  static const payload none = make_payload({});
  return none;
}

} // namespace belay
