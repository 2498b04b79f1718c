#pragma once
// Steps of a request, each without sockets, disks and other threads. bench/micro.cpp times them,
// and tests/costs counts their allocations.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace belay::bench {

struct request_step {
  std::string name;
  std::function<void()> run; ///< once; may be repeated
};

struct state_size {
  std::size_t keys = 10'000;
  std::size_t value_bytes = 256;
  std::size_t watchers = 1'000; ///< half of them watch one key, the others one each
};

/// All use one state of that size; besides its keys there are a thousand below one prefix.
std::vector<request_step> request_steps(state_size size = {});

} // namespace belay::bench
