#pragma once
// The keys of `encrypt` (docs/security.md), as an operator sees them: what is wanted of every member at once (Consul's
// /v1/operator/keyring), and what one member makes of it. No leader decides it and no entry of the log: each member changes its own
// keyring. Who asks whom, and counts the answers, is in keyring_rounds.hpp.

#include "protocol/base/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace belay::forward {

/// Keys that one server has; another one is not installed. Far more than a rotation needs.
inline constexpr std::size_t keyring_keys_max = 64;
/// Bytes of a key in base64; those of 32 bytes are 44.
inline constexpr std::size_t keyring_key_bytes_max = 64;
/// Bytes of a member's reason.
inline constexpr std::size_t keyring_text_bytes_max = 512;

/// The numbers travel between nodes: never renumber.
enum class keyring_verb : std::uint8_t {
  list = 0,
  install = 1, ///< it is accepted from now on
  use = 2,     ///< it is the primary one, by which others are dialled
  remove = 3,  ///< it is not accepted any more
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
  std::string key; ///< base64 of 16, 24 or 32 bytes; empty: of a length that no keyring holds. Nothing in a list
};

struct keyring_answer {
  bool ok = false;
  std::string text;              ///< not ok: why, in Consul's words where it has some
  std::vector<std::string> keys; ///< of a list that is ok; the first one is the primary
  bool no_keyring = false;       ///< not ok: this server has no encryption. Not told to others
};

/// One member asks another, and is answered. They travel over connections with credentials only: keys are in them.
struct keyring_call {
  request_id id; ///< of the asking node
  keyring_operation what;
};
struct keyring_reply {
  request_id id; ///< of the call
  keyring_answer answer;
};

/// What the operation makes of the keys of one server.
/// @param keys base64, the first one is the primary; empty: no encryption
keyring_answer operate_on(std::vector<std::string>& keys, const keyring_operation& op);

} // namespace belay::forward
