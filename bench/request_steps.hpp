#pragma once
// Steps on the way of a request, each without sockets, disks and other threads: bench/micro.cpp times them, and
// tests/costs counts what they allocate.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace belay::bench {

struct request_step {
  std::string name;
  std::function<void()> run; ///< once; as often as wanted
};

struct world_size {
  std::size_t keys = 10'000;
  std::size_t value_bytes = 256;
  std::size_t watchers = 1'000; ///< half of them of one key, the others of one each
};

/// All work on one world of that size; beside its keys there are a thousand below one prefix.
std::vector<request_step> request_steps(world_size size = {});

} // namespace belay::bench
