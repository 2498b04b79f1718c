#pragma once
// Messages between nodes about clients' requests: calls that are forwarded
// to the leader, its replies, and read barriers. protocol/wire encodes them.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <string>

namespace belay::forward {

/// Content of a call's bytes. Sent between nodes: never renumber.
enum class call_kind : std::uint8_t {
  propose = 0,         ///< a command for the log (protocol/wire/command_codec.hpp)
  renew_session = 1,   ///< the session's id
  remove_member = 2,   ///< operator_calls.hpp (protocol/wire/operator_codec.hpp)
  describe_health = 3, ///< likewise
};

constexpr const char* name_of(call_kind k) {
  switch (k) {
  case call_kind::propose:
    return "propose";
  case call_kind::renew_session:
    return "renew_session";
  case call_kind::remove_member:
    return "remove_member";
  case call_kind::describe_health:
    return "describe_health";
  }
  return "?";
}

/// Outcome of a call. Sent between nodes: never renumber.
enum class call_outcome : std::uint8_t {
  done = 0,
  refused = 1, ///< it did not happen and will not
  unknown = 2, ///< it may have happened: never retried for the client
  retry = 3,   ///< between nodes only: the receiver does not lead, and has done nothing
};

constexpr const char* name_of(call_outcome o) {
  switch (o) {
  case call_outcome::done:
    return "done";
  case call_outcome::refused:
    return "refused";
  case call_outcome::unknown:
    return "unknown";
  case call_outcome::retry:
    return "retry";
  }
  return "?";
}

/// A request forwarded to the leader, once: the leader never forwards it (docs/internals/pitfalls.md R24).
struct call {
  request_id id; ///< id at the requesting node
  call_kind kind = call_kind::propose;
  payload bytes;
};

struct reply {
  request_id id; ///< id of the call
  call_outcome outcome = call_outcome::unknown;
  log_index index;   ///< done, and it was a log entry: its index
  std::string bytes; ///< done: the encoded reply; refused and unknown: a text for the client
};

/// Asks the leader for the index that a read must wait for (etcd's ReadIndex).
struct read_index {
  std::uint64_t id = 0;
  bool lease_ok = false; ///< the leader's lease suffices; else it asks a quorum
};

struct read_index_reply {
  std::uint64_t id = 0; ///< id of the request
  bool ok = false;      ///< false: not the leader, or not confirmed in time
  log_index index;      ///< ok: serve the read once this is applied
};

} // namespace belay::forward
