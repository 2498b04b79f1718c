#pragma once
// Distinguishes commands of processes that use the client library from those of other clients
// (sim/kit/library_ground.hpp). The library decides what they send, so the history has no operation
// for it.

#include "protocol/state/commands.hpp"

#include <algorithm>
#include <string_view>

namespace belay::sim {

/// Prefix of all keys that they write.
inline constexpr std::string_view library_prefix = "lib/";
/// Name of all their sessions.
inline constexpr std::string_view library_session = "lib";
/// Length of an Idempotency-Key that the library draws; those of other clients are shorter.
inline constexpr std::size_t library_key_length = 32;

inline bool is_of_library(const state::kv_op& op) {
  return op.key.starts_with(library_prefix);
}

/// Whether the library sent the command. @pre only clients send commands of its kind
inline bool is_of_library(const state::command& c) {
  if (const auto* w = std::get_if<state::kv_write>(&c))
    return is_of_library(w->op);
  if (const auto* a = std::get_if<state::kv_acquire>(&c))
    return is_of_library(a->op);
  if (const auto* s = std::get_if<state::session_create>(&c))
    return s->session.name == library_session;
  if (const auto* s = std::get_if<state::outcome_seal>(&c))
    return s->key.size() == library_key_length;
  const auto* t = std::get_if<state::txn>(&c);
  return t != nullptr && std::all_of(t->ops.begin(), t->ops.end(), [](const state::txn_op& each) {
           const auto* op = std::get_if<state::kv_op>(&each);
           return op != nullptr && is_of_library(*op);
         });
}

} // namespace belay::sim
