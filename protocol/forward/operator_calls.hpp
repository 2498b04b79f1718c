#pragma once
// What operators ask of the leader about the set of servers (docs/contract/12). Such a call travels like a write, but
// the leader answers it itself: no entry of the log decides it.

#include <cstdint>
#include <string>
#include <variant>

namespace belay::forward {

/// Take a server out of the configuration. Answered true as soon as the configuration lacks it.
struct remove_member {
  enum class named_by : std::uint8_t { id, address };
  named_by by = named_by::id;
  std::string name; ///< the node ID, or host:port
};

constexpr const char* name_of(remove_member::named_by by) {
  return by == remove_member::named_by::id ? "id" : "address";
}

/// Take in the server that introduces itself with that address or node ID. Answered true as soon as the configuration has it, as a
/// learner or a voter.
struct add_member {
  std::string address; ///< host:port; empty: it is named by its ID
  std::string id = {}; ///< the node ID; empty: it is named by its address
};

/// Say how the servers are. Answered with the JSON text of protocol/http/operators/health_report.hpp.
struct describe_health {
  std::int64_t last_contact_threshold_ns = 0; ///< silent for longer: not healthy
  std::uint64_t max_trailing_logs = 0;        ///< behind by more entries: not healthy
  std::string version;                        ///< of the asking server, to be shown; no spaces
};

/// A client agent is there, or leaves: the leader keeps what the catalog says of its health.
struct agent_heard {
  std::string uuid;    ///< of its node
  std::string address; ///< of its node, without port
  bool leaves = false; ///< its node is to be deregistered
  std::string name;    ///< of its node
  /// Where its connection comes from, without port. Empty: a server below client_address_level passes it on, or one of them is a member. Then
  /// the next two are not there either.
  std::string source = {};
  std::string proof = {};     ///< hash of the secret of its node; empty: it sends none (0.2.0)
  bool authenticated = false; ///< its connection, by `encrypt` or a certificate
};

/// The server with that node ID wants to leave. Answered true as soon as the configuration lacks it, also if it was not in it; refused if
/// those who stay could not decide anything without it.
struct let_leave {
  std::string id;
};

/// Take out the server of that name, which has not been heard for a while. Answered true as soon as the configuration lacks it.
struct force_leave {
  std::string name;
};

using operator_call = std::variant<remove_member, describe_health, add_member, let_leave, force_leave, agent_heard>;

} // namespace belay::forward
