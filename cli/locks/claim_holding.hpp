#pragma once
// Holds a claim: permits of a semaphore, a leadership, or a read-write lock.

#include "cli/locks/holding.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace belay::cli {

struct hold_options {
  enum class kind : std::uint8_t {
    permits,
    leadership,
    reader, ///< shares a read-write lock with other readers
    writer, ///< holds such a lock alone
  } of = kind::permits;
  std::string name;
  std::uint64_t permits = 1; ///< how many to acquire
  std::uint64_t limit = 1;   ///< number of permits of the semaphore
  std::string value;         ///< what others see of the leader
};

std::unique_ptr<holding> make_claim_holding(boost::asio::io_context& loop, const api_target& target,
                                            const api_query& scope, hold_options chosen,
                                            const acquire_deadline& deadline);

} // namespace belay::cli
