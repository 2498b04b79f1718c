#pragma once
// A claim on a server that supports them: requested once, queued and granted there.

#include <belay/lease.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {
namespace detail {

class claim {
public:
  claim(std::string name, std::string kind) : name(std::move(name)), kind(std::move(kind)) {}
  std::string name;
  std::string kind;
  std::string mode;          ///< mode of a read-write lock: shared or exclusive
  std::uint64_t limit = 0;   ///< limit of a semaphore
  std::uint64_t permits = 0; ///< permits of a semaphore
  std::string value;
};

/// Each call makes a claim of its own, with its own ID. Destroying the task withdraws it.
task<result<lease>> take(session& s, claim wanted, deadline limit);

} // namespace detail
} // namespace v0
} // namespace belay
