#pragma once
// The tokens that this server itself has (docs/contract/10, section 5.3): from the configuration, and from clients.

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

/// Shared by gateways and by whoever reads the configuration again. Any thread.
class agent_tokens {
public:
  /// @param kept what clients have set before and the disk has kept; where there is something, it counts
  explicit agent_tokens(agent_token_values configured = {}, agent_token_values kept = {});

  agent_token_values now() const;
  /// Another one: now() may be different.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }

  /// A client wants it so.
  void set(const http::agent_token_change& change);
  /// What clients have set, for the disk.
  agent_token_values kept() const;
  /// The configuration was read again. What clients have set lasts only if the disk keeps it, as in Consul.
  void configure(agent_token_values configured, bool kept_count);

private:
  void combine();

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> version_{1};
  agent_token_values configured_, kept_, now_;
};

} // namespace belay::actors
