#pragma once
// What is held by the client library: permits of a semaphore, an office.

#include "cli/locks/holding.hpp"
#include "cli/recipes/library_hold.hpp"

#include <memory>

namespace belay::cli {

std::unique_ptr<holding> make_claim_holding(const boost::asio::any_io_executor& executor, const api_target& target,
                                            const api_query& scope, hold_wish wish, const acquire_deadline& deadline);

} // namespace belay::cli
