#pragma once
// Calls of the client library that a command makes and waits for.

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace belay::cli {

struct api_target;

struct counter_call {
  std::string key;
  std::int64_t n = 0; ///< what is added
  std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
};

struct counted {
  bool done = false, unknown = false; ///< neither: it was refused, and nothing was changed
  std::int64_t number = 0;            ///< if it is done: what the counter is afterwards
  std::string why = {};
};

/// belay::counter. @param scope what is added to each query, as `dc=dc2`. @param within how long it may take
counted add_to_counter(const api_target& target, const std::string& scope, const counter_call& call,
                       std::chrono::milliseconds within);
counted read_counter(const api_target& target, const std::string& scope, const counter_call& call,
                     std::chrono::milliseconds within);

} // namespace belay::cli
