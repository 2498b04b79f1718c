#include "protocol/wire/record_codec.hpp"

namespace belay::wire {

std::size_t read_count(byte_reader& r) {
  const auto n = r.varint();
  if (n > r.remaining())
    r.fail();
  return r.ok() ? static_cast<std::size_t>(n) : 0;
}

} // namespace belay::wire
