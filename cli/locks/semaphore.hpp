#pragma once
// A semaphore as Consul's api.Semaphore: a key for each contender, and one that lists the holders.

#include "cli/locks/holding.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>

namespace belay::cli {

/// The key that lists the holders, `PREFIX/.lock`.
struct holder_list {
  std::size_t limit = 0;
  std::set<std::string> holders; ///< IDs of sessions

  std::string text() const; ///< JSON
};
/// The failure reads as that of Consul's client.
result<holder_list> read_holder_list(const std::string& text);

std::unique_ptr<holding> make_semaphore(const boost::asio::any_io_executor& executor, const api_target& target,
                                        api_query scope, holding_settings settings);

} // namespace belay::cli
