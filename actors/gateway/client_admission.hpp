#pragma once
// Limits clients' connections: in all, and from each address. Gateways on several threads share it.

#include "actors/live_limit.hpp"

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace belay::actors {

/// Thread-safe.
class client_admission {
public:
  /// @param per_address_max 0: no limit
  client_admission(std::size_t connections_max, live_limit per_address_max)
      : connections_max_(connections_max), per_address_max_(std::move(per_address_max)) {}

  /// Counts one more connection from `address`; empty: a Unix socket, which only the total counts.
  /// @returns the address, which stays valid until its last connection has left; null: too many
  const std::string* admit(const std::string& address);
  /// An admitted connection has ended.
  void leave(const std::string& address);
  /// Whether admit() would return null because the total is reached.
  bool full() const;
  /// Number of connections of each network, by http::network_of(). Unix sockets are not included.
  std::unordered_map<std::string, std::size_t> networks() const;

private:
  std::size_t connections_max_;
  live_limit per_address_max_;
  mutable std::mutex mutex_; ///< protects the members below
  std::size_t connections_ = 0;
  std::unordered_map<std::string, std::size_t> of_address_; ///< none is zero
};

} // namespace belay::actors
