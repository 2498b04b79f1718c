#pragma once
// Queries about changes of keys that a server retains, and their results (docs/reference/changes.md).

#include "protocol/state/changes/history.hpp"
#include "protocol/state/records.hpp"

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::acl {
class authorizer;
}

namespace belay::state {

/// Default size of the window of changes.
inline constexpr std::size_t change_window_bytes_usual = 64u << 20;

enum class change_kind : std::uint8_t {
  set = 0,     ///< written, locked or unlocked; also unlocked by the end of a session
  removed = 1, ///< removed by a request
  expired = 2, ///< removed because a session ended
};
template <>
inline constexpr auto names_of<change_kind> = std::to_array<std::string_view>({"set", "delete", "expired"});
static_assert(count_of<change_kind> == static_cast<std::size_t>(change_kind::expired) + 1);

/// A follower's position in the change feed. It has all of the entries before `index`, and of that
/// entry the effects up to `effect`, counted from 0 in the entry's order.
struct change_position {
  static constexpr std::uint64_t all_effects = std::numeric_limits<std::uint64_t>::max();

  log_index index;
  std::uint64_t effect = all_effects;

  auto operator<=>(const change_position&) const = default;
  bool is_whole() const { return effect == all_effects; }
};
/// `4711.0`, or `4711` for the whole entry.
std::string to_string(const change_position& p);

/// A position with the history that it belongs to.
struct change_cursor {
  change_position position;
  history_id history; ///< none: the cursor does not name one

  bool operator==(const change_cursor&) const = default;
};
/// `4711.0@9f3c2a1b00000000`; without a history, nothing from `@` on.
std::string to_string(const change_cursor& c);
/// nullopt: not a cursor. The index may be zero, which is no position.
std::optional<change_cursor> read_cursor(std::string_view text);

/// One key, as one entry of the log changed it.
struct kv_change {
  log_index index;
  std::uint64_t effect = 0;
  change_kind kind = change_kind::set;
  kv_entry_ptr row;   ///< after the change; if removed, before it. Never null
  log_index previous; ///< ModifyIndex before it; zero: the key did not exist

  bool operator==(const kv_change&) const = default;
};

/// Changes after `after`, in order.
struct kv_changes {
  /// What to return. Each considers only entries from the server's current position on.
  enum class what : std::uint8_t {
    changes,  ///< the changes; if there are none, a request that may wait waits
    position, ///< only the server's current position
    snapshot, ///< the keys as they are now, at `after` or later
  };

  std::vector<std::string> prefixes; ///< never empty; matches keys that begin with any of them
  change_position after;
  what requested = what::changes;
  std::uint8_t kinds = all_kinds; ///< one bit for each requested kind
  history_id history = {};        ///< the history of `after`; none: the client did not name it

  static constexpr std::uint8_t all_kinds = (1U << count_of<change_kind>)-1;
  bool includes(change_kind k) const { return (kinds & (1U << static_cast<unsigned>(k))) != 0; }
  bool operator==(const kv_changes&) const = default;
};

/// The key as it was when that entry had been applied.
struct kv_at {
  std::string key;
  log_index index;
  history_id history = {}; ///< the history of `index`; none: the client did not name it

  bool operator==(const kv_at&) const = default;
};
/// All retained changes of the key, newest first.
struct kv_history {
  std::string key;

  bool operator==(const kv_history&) const = default;
};

struct change_rows {
  std::vector<kv_change> list;
  std::vector<kv_entry_ptr> rows; ///< for a snapshot
  change_position reached;        ///< after the last change examined; never before the requested position
  log_index floor;                ///< changes of entries up to this one are not retained
  log_index applied;              ///< by the server that responds
  bool gone = false;              ///< the request is below the floor, or of another history
  bool other_history = false;     ///< `gone` because of another history
  bool more = false;              ///< the result is full: there may be more after `reached`
  /// Permissions that decided which rows the result shows; null: ACLs are off.
  std::shared_ptr<const acl::authorizer> viewer = {};
  history_id history = {}; ///< named in the cursors of this result; none: they name none

  /// Whether a request that may wait waits: nothing has happened yet, or the server's index is
  /// behind.
  bool nothing_yet() const { return list.empty() && !gone && !more; }
};

} // namespace belay::state
