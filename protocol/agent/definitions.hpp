#pragma once
// Services and checks as they are registered with the agent that runs beside them (docs/contract/09).

#include "protocol/state/queries.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::agent {

/// Monotonic, of this process.
using local_time = std::chrono::nanoseconds;

enum class check_kind : std::uint8_t {
  ttl = 0,
  http = 1,
  tcp = 2,
  script = 3,
  alias = 4,
  maintenance = 5,
  grpc = 6,
};

/// How a check is shown and run. Which members are set decides its kind, as in Consul.
struct check_definition {
  std::string id, name, notes, service_id;
  std::string status; ///< the first one; empty: critical

  std::int64_t ttl_ns = 0;
  std::int64_t interval_ns = 0, timeout_ns = 0; ///< of checks that this node runs; timeout 0: the default of the kind
  std::int64_t deregister_after_ns = 0;         ///< critical for so long: its service goes; 0: never
  std::string http, method, body;
  std::map<std::string, std::vector<std::string>> header;
  bool tls_skip_verify = false;
  std::string tcp;  ///< host:port
  std::string grpc; ///< host:port, or host:port/SERVICE
  bool grpc_use_tls = false;
  std::vector<std::string> args;
  std::string alias_node, alias_service;
  bool maintenance = false;
  std::int64_t success_before_passing = 0, failures_before_critical = 0;
  std::int64_t output_bytes_max = 0; ///< 0: check_output_max_size
  std::string token;                 ///< it is written to the catalog with this one; empty: with the agent's own

  bool operator==(const check_definition&) const = default;
};

/// @pre !complaint_of(c)
check_kind kind_of(const check_definition& c);
/// The refusal of a check in a configuration file that runs a program where that is not allowed.
inline constexpr std::string_view scripts_disabled_in_files =
    "Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or 'enable_local_script_checks' "
    "to true";
/// As `Type` shows it.
std::string_view name_of(check_kind k);
/// What follows `Invalid check: ` in Consul's refusal.
std::optional<std::string> complaint_of(const check_definition& c);
/// passing, warning, critical.
bool is_status(std::string_view text);

struct service_definition {
  state::service_record service; ///< the node is filled in by the agent
  std::vector<check_definition> checks;
  std::string token; ///< as check_definition::token; also of those checks that have none
};

/// All that a configuration says about its node in the catalog.
struct configured_definitions {
  std::vector<service_definition> services;
  std::vector<check_definition> checks;
  std::optional<state::string_map> node_meta; ///< nullopt: as it is
};

/// What follows 400 in Consul's refusal; also fills in the ID, and the tagged addresses that come from the address.
std::optional<std::string> complete(service_definition& s);

/// Names checks that have no ID or name after their service: `service:web`, or `service:web:1`, ... if there are
/// several. Those without a token get the service's.
void name_checks(service_definition& s);

/// Who registered something: what the API did is kept across restarts, what the configuration did is read again.
enum class origin : std::uint8_t { api = 0, configuration = 1 };

} // namespace belay::agent
