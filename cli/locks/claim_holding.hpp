#pragma once
// What is held by a claim: permits of a semaphore, an office, a lock of readers and writers.

#include "cli/locks/holding.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace belay::cli {

struct hold_wish {
  enum class kind : std::uint8_t {
    permits,
    office,
    reader, ///< of a lock that readers have together
    writer, ///< of such a lock, alone
  } of = kind::permits;
  std::string name;
  std::uint64_t permits = 1; ///< that are taken
  std::uint64_t limit = 1;   ///< permits that there are
  std::string value;         ///< what others see of who has the office
};

std::unique_ptr<holding> make_claim_holding(boost::asio::io_context& loop, const api_target& target,
                                            const api_query& scope, hold_wish wish, const acquire_deadline& deadline);

} // namespace belay::cli
