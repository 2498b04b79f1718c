#pragma once
// Steps on the way of a request, each without sockets, disks and other threads: bench/micro.cpp times them, and
// tests/costs counts what they allocate.

#include <functional>
#include <string>
#include <vector>

namespace belay::bench {

struct request_step {
  std::string name;
  std::function<void()> run; ///< once; as often as wanted
};

/// All work on one world: 10,000 keys with values of 256 bytes, a thousand of them below one prefix, a thousand watched.
std::vector<request_step> request_steps();

} // namespace belay::bench
