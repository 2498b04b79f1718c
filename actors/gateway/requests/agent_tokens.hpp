#pragma once
// The tokens of this server itself (docs/contract/10, section 5.3), from configuration and clients.

#include "protocol/http/request.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace belay::actors {

/// Empty: there is none.
struct agent_token_values {
  std::string of_requests; ///< acl.tokens.default
  std::string agent, agent_master, replication;

  std::string& of(http::agent_token_kind kind);
  bool operator==(const agent_token_values&) const = default;
};

/// Shared by the gateways and the reload of the configuration. Thread-safe.
class agent_tokens {
public:
  /// @param kept values that clients set before, from the disk; they take precedence
  explicit agent_tokens(agent_token_values configured = {}, agent_token_values kept = {});

  agent_token_values now() const;
  /// Changes whenever now() may have changed.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// Sets a token on a client's request.
  void set(const http::agent_token_change& change);
  /// Values set by clients, for the disk.
  agent_token_values kept() const;
  /// Call it after a reload. As in Consul, clients' values survive a reload only if they are stored
  /// on the disk.
  void configure(agent_token_values configured, bool kept_count);

private:
  void combine();

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> version_{1};
  agent_token_values configured_, kept_, now_;
};

} // namespace belay::actors
