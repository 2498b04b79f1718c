#pragma once
// Operators' requests to the leader about the set of servers (docs/contract/12). They
// are forwarded like writes, but the leader decides them itself, without a log entry.

#include <cstdint>
#include <string>
#include <variant>

namespace belay::forward {

/// Remove a server from the configuration. Replies true when the configuration lacks it.
struct remove_member {
  enum class named_by : std::uint8_t { id, address };
  named_by by = named_by::id;
  std::string name; ///< the node ID, or host:port
};

constexpr const char* name_of(remove_member::named_by by) {
  return by == remove_member::named_by::id ? "id" : "address";
}

/// Add the server that connects with that address or node ID. Replies
/// true when the configuration has it, as a learner or a voter.
struct add_member {
  std::string address; ///< host:port; empty: named by its ID
  std::string id = {}; ///< the node ID; empty: named by its address
};

/// Report the servers' health, as the JSON text of protocol/http/operators/health_report.hpp.
struct describe_health {
  std::int64_t last_contact_threshold_ns = 0; ///< a server that is silent for longer is unhealthy
  std::uint64_t max_trailing_logs = 0;        ///< a server that is further behind is unhealthy
  std::string version;                        ///< version of the requesting server, for display; no spaces
};

/// A client agent is alive, or leaves: the leader updates its health in the catalog.
struct agent_received {
  std::string uuid;    ///< ID of its node
  std::string address; ///< address of its node, without port
  bool leaves = false; ///< deregister its node
  std::string name;    ///< name of its node
  /// Source address of its connection, without port. Empty: forwarded by a server below
  /// client_address_level, or such a server is a member. Then the next two are missing, too.
  std::string source = {};
  std::string proof = {};     ///< hash of its node's secret; empty: it sends none (0.2.0)
  bool authenticated = false; ///< its connection, by `encrypt` or a certificate
};

/// The server with that node ID leaves. Replies true when the configuration
/// lacks it, even if it already did; rejected if the rest would have no quorum.
struct let_leave {
  std::string id;
};

/// Remove the silent server with that name. Replies true when the configuration lacks it.
struct force_leave {
  std::string name;
};

using operator_call = std::variant<remove_member, describe_health, add_member, let_leave, force_leave, agent_received>;

} // namespace belay::forward
