#pragma once
// Ids of the requests that one gateway sends to other actors.

#include "protocol/base/fresh_numbers.hpp"
#include "protocol/base/ids.hpp"

namespace belay::actors {

/// Request ids of one gateway: its number is in the upper 16 bits.
class request_ids {
public:
  request_ids(std::size_t gateway, std::uint64_t seed)
      : gateway_(static_cast<std::uint64_t>(gateway) << 48), numbers_(seed) {}
  request_id next() { return request_id{gateway_ | numbers_.next()}; }

private:
  std::uint64_t gateway_;
  fresh_numbers numbers_;
};

} // namespace belay::actors
