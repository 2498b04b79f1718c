#pragma once
// The feature level that a whole command needs, including the rows that a restore brings.

#include "protocol/state/commands.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/state/feature_levels.hpp"
#include "protocol/state/folded_name.hpp"

#include <algorithm>

namespace belay::state {

inline bool adds(const kv_op& op) {
  return op.verb == kv_verb::add;
}

/// Whether the verb `add` occurs in it, rows of a restore excepted.
inline bool has_add(const plain_command& c) {
  const auto any_adds = [&](const std::vector<txn_op>& ops) {
    return std::any_of(ops.begin(), ops.end(), [&](const txn_op& each) {
      const auto* op = std::get_if<kv_op>(&each);
      return op != nullptr && adds(*op);
    });
  };
  return std::visit(
      [&](const auto& each) {
        if constexpr (requires { adds(each.op); })
          return adds(each.op);
        else if constexpr (requires { any_adds(each.ops); })
          return any_adds(each.ops);
        else if constexpr (requires { any_adds(each.body.ops); })
          return any_adds(each.body.ops);
        else if constexpr (requires { each.on_end; })
          return std::any_of(each.on_end.begin(), each.on_end.end(), adds);
        else
          return false;
      },
      c);
}

inline bool has_capitals(std::string_view accessor) {
  return folded(accessor) != accessor;
}

/// Whether the reply has rows. With an idempotency key the command has no effect if they are too
/// large to be kept.
inline bool replies_with_rows(const plain_command& c) {
  return std::holds_alternative<txn>(c) || std::holds_alternative<fenced_txn>(c) ||
         std::holds_alternative<acl_policy_set>(c) || std::holds_alternative<acl_role_set>(c) ||
         std::holds_alternative<acl_token_set>(c) || std::holds_alternative<acl_token_clone>(c);
}

/// Whether the rules of the command changed with client_address_level.
inline bool has_client(const plain_command& c) {
  if (const auto* set = std::get_if<acl_token_set>(&c))
    return set->fresh && has_capitals(set->token.accessor);
  if (const auto* acquire = std::get_if<kv_acquire>(&c))
    return acquire->wait_ms != 0;
  if (const auto* session = std::get_if<session_begin>(&c))
    return !session->on_end.empty();
  return std::holds_alternative<claim_ask>(c) || std::holds_alternative<claim_release>(c) ||
         std::holds_alternative<claim_transfer>(c) || std::holds_alternative<claim_limit_unset>(c) ||
         std::holds_alternative<guard_set>(c);
}
inline bool has_client(const command& c) {
  return has_client(static_cast<const plain_command&>(c)) || (c.once && replies_with_rows(c));
}

inline feature_level level_of(const session_record& s) {
  if (!s.by.empty())
    return client_address_level;
  if (std::any_of(s.on_end.begin(), s.on_end.end(), adds))
    return exactly_once_level;
  return s.on_end.empty() && s.ttl_mode == session_ttl_mode::lower_bound ? feature_level{0} : claims_level;
}

/// Level of a mark that no checkpoint has until a feature of that level is used, e.g. claims.
inline feature_level level_of(const counter& row) {
  switch (named<index_kind>(row.name).value_or(index_kind::kvs)) {
  case index_kind::claims:
  case index_kind::last_fence:
  case index_kind::last_ticket:
  case index_kind::ended_sessions:
    return claims_level;
  default:
    return 0;
  }
}

/// Level of an archive's row: servers below it cannot read the row.
inline feature_level level_of(const dirty_row& row) {
  if (const auto* session = std::get_if<session_ptr>(&row.row))
    return level_of(**session);
  if (const auto* number = std::get_if<counter>(&row.row))
    return level_of(*number);
  const auto* claim = std::get_if<claim_ptr>(&row.row);
  const auto* end = std::get_if<claim_end_ptr>(&row.row);
  const auto* resource = std::get_if<claim_resource_ptr>(&row.row);
  const auto* guard = std::get_if<guard_ptr>(&row.row);
  const auto* token = std::get_if<acl_token_ptr>(&row.row);
  const bool later = (claim != nullptr && (!(*claim)->scope.empty() || !(*claim)->by.empty())) ||
                     (end != nullptr && !(*end)->scope.empty()) || (resource != nullptr && (*resource)->limit_open) ||
                     (guard != nullptr && !(*guard)->scope.empty()) ||
                     (token != nullptr && has_capitals((*token)->accessor));
  return later ? client_address_level : level_of(row.table);
}

inline feature_level level_of(const restore_rows& c) {
  feature_level level = 0;
  for (const auto& row : *c.rows)
    level = std::max(level, level_of(row));
  return level;
}

/// Level of a write, on behalf of any token.
inline feature_level level_of(const plain_command& c) {
  if (const auto* rows = std::get_if<restore_rows>(&c))
    return level_of(*rows);
  const auto level = std::visit([](const auto& each) { return level_of(each.tag); }, c);
  return has_add(c) ? std::max(level, exactly_once_level) : level;
}
inline feature_level level_of(const command& c) {
  const auto level = level_of(static_cast<const plain_command&>(c));
  return std::max({level, c.once ? exactly_once_level : feature_level{0},
                   c.client_address ? client_address_level : feature_level{0}});
}

} // namespace belay::state
