#pragma once
// How many connections clients may have: in all, and from each address. Gateways on several threads share one.

#include "actors/live_limit.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace belay::actors {

/// Any thread.
class client_admission {
public:
  /// @param per_address_max 0: no limit
  client_admission(std::size_t connections_max, live_limit per_address_max)
      : connections_max_(connections_max), per_address_max_(std::move(per_address_max)) {}

  /// One more connection from `address`; empty: a Unix socket, whose clients count only in all.
  /// @returns the address, which stays where it is until the last connection from there has left; null: too many
  const std::string* admit(const std::string& address);
  /// A connection that was admitted has ended.
  void leave(const std::string& address);
  /// admit() would return null because there are too many in all.
  bool full() const;
  /// How many connections each network has, by http::network_of(). Of Unix sockets none.
  std::unordered_map<std::string, std::size_t> networks() const;

private:
  std::size_t connections_max_;
  live_limit per_address_max_;
  mutable std::mutex mutex_; ///< of what follows
  std::size_t connections_ = 0;
  std::unordered_map<std::string, std::size_t> of_address_; ///< none is zero
};

} // namespace belay::actors
