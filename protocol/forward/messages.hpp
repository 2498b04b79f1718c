#pragma once
// What nodes say to each other about the requests of clients: calls that a node hands to the leader, the leader's
// answers, and the question up to where a linearizable read must wait. Their bytes are in protocol/wire.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <string>

namespace belay::forward {

/// What is in a call's bytes. The numbers travel between nodes: never renumber.
enum class call_kind : std::uint8_t {
  propose = 0,         ///< a command for the log, as protocol/wire/command_codec.hpp encodes it
  renew_session = 1,   ///< the session's id
  remove_member = 2,   ///< operator_calls.hpp, as protocol/wire/operator_codec.hpp encodes it
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

/// What became of a call. The numbers travel between nodes: never renumber.
enum class call_outcome : std::uint8_t {
  done = 0,
  refused = 1, ///< it did not happen and will not
  unknown = 2, ///< it may have happened: nobody tries again for the client
  retry = 3,   ///< between nodes only: the one that was asked does not lead, and has done nothing
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

/// A request handed to the leader, once: the leader never passes it on (docs/pitfalls.md R24).
struct call {
  request_id id; ///< of the asking node
  call_kind kind = call_kind::propose;
  payload bytes;
};

struct reply {
  request_id id; ///< of the call
  call_outcome outcome = call_outcome::unknown;
  log_index index;   ///< done, and it was an entry of the log: which one
  std::string bytes; ///< done: the encoded answer; refused and unknown: a text for the client
};

/// Asks the leader up to where a read must wait (etcd calls it ReadIndex).
struct read_index {
  std::uint64_t id = 0;
  bool lease_ok = false; ///< the leader's lease is proof enough; else it asks a quorum
};

struct read_index_reply {
  std::uint64_t id = 0; ///< of the question
  bool ok = false;      ///< false: not the leader, or it could not find out in time
  log_index index;      ///< ok: serve the read once this is applied
};

} // namespace belay::forward
