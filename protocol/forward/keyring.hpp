#pragma once
// Operations on the keys of `encrypt` (docs/operate/security.md): requested of all members at once
// (Consul's /v1/operator/keyring), carried out by each on its own keyring. No leader and
// no log entry decides them. keyring_rounds.hpp sends the requests and counts the replies.

#include "protocol/base/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::forward {

/// Max keys of one server; more are not installed. Far more than a rotation needs.
inline constexpr std::size_t keyring_keys_max = 64;
/// Bytes of a key in base64; 32-byte keys have 44.
inline constexpr std::size_t keyring_key_bytes_max = 64;
/// Bytes of a member's reason.
inline constexpr std::size_t keyring_text_bytes_max = 512;

/// Sent between nodes: never renumber.
enum class keyring_verb : std::uint8_t {
  list = 0,
  install = 1, ///< accepted from now on
  use = 2,     ///< the primary key, used for outgoing connections
  remove = 3,  ///< no longer accepted
};

constexpr const char* name_of(keyring_verb v) {
  switch (v) {
  case keyring_verb::list:
    return "list";
  case keyring_verb::install:
    return "install";
  case keyring_verb::use:
    return "use";
  case keyring_verb::remove:
    return "remove";
  }
  return "?";
}

struct keyring_operation {
  keyring_verb verb = keyring_verb::list;
  std::string key; ///< base64 of 16, 24 or 32 bytes; empty: invalid length. Unused for list
};

struct keyring_answer {
  bool ok = false;
  std::string text;              ///< not ok: why, in Consul's words if it has any
  std::vector<std::string> keys; ///< keys of a successful list; the first one is the primary
  bool no_keyring = false;       ///< set if not ok because this server has no encryption; never sent to other servers
};

/// A request between members, and its reply. With keys: only over authenticated connections.
struct keyring_call {
  request_id id; ///< id at the requesting node
  keyring_operation what;
};
struct keyring_reply {
  request_id id; ///< id of the call
  keyring_answer answer;
};

/// Applies the operation to the keys of one server.
/// @param keys base64, the first one is the primary; empty: no encryption
keyring_answer operate_on(std::vector<std::string>& keys, const keyring_operation& op);

} // namespace belay::forward
