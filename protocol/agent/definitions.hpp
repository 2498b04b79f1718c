#pragma once
// Services and checks as registered with the agent that runs beside them (docs/contract/09).

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

/// How a check is shown and run. The members that are set determine its kind, as in Consul.
struct check_definition {
  std::string id, name, notes, service_id;
  std::string status; ///< the initial status; empty: critical

  std::int64_t ttl_ns = 0;
  std::int64_t interval_ns = 0, timeout_ns = 0; ///< for checks that this node runs; timeout 0: the kind's default
  std::int64_t deregister_after_ns = 0; ///< deregister the service after it was critical for this time; 0: never
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
  std::string token;                 ///< token for writing it to the catalog; empty: the agent's own

  bool operator==(const check_definition&) const = default;
};

/// @pre !complaint_of(c)
check_kind kind_of(const check_definition& c);
/// Refusal of a script check in a configuration file, if scripts are disabled.
inline constexpr std::string_view scripts_disabled_in_files =
    "Scripts are disabled on this agent; to enable, configure 'enable_script_checks' or 'enable_local_script_checks' "
    "to true";
/// The value of `Type`.
std::string_view name_of(check_kind k);
/// The text after `Invalid check: ` in Consul's error.
std::optional<std::string> complaint_of(const check_definition& c);
/// Whether it is `passing`, `warning` or `critical`.
bool is_status(std::string_view text);

struct service_definition {
  state::service_record service; ///< the agent fills in the node
  std::vector<check_definition> checks;
  std::string token; ///< as check_definition::token; also for its checks without one
};

/// Everything that a configuration defines about its node in the catalog.
struct configured_definitions {
  std::vector<service_definition> services;
  std::vector<check_definition> checks;
  std::optional<state::string_map> node_meta; ///< nullopt: unchanged
};

/// The text after 400 in Consul's error; also fills in the ID, and tagged addresses by address.
std::optional<std::string> complete(service_definition& s);

/// Names checks without ID or name after their service: `service:web`, or
/// `service:web:1`, ... if there are several. Those without a token get the service's.
void name_checks(service_definition& s);

/// Source of a registration. Those through the API survive restarts; those in the configuration are
/// read again.
enum class origin : std::uint8_t { api = 0, configuration = 1 };

} // namespace belay::agent
