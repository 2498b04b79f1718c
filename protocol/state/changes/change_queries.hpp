#pragma once
// What can be asked of the changes of keys that a server still knows, and what is answered (docs/changes.md).

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

/// So much of changes a server keeps if it is not told otherwise.
inline constexpr std::size_t change_window_bytes_usual = 64u << 20;

enum class change_kind : std::uint8_t {
  set = 0,     ///< written, locked or unlocked; also by the end of a session, which leaves it without one
  removed = 1, ///< by somebody's request
  expired = 2, ///< removed because a session ended
};
template <>
inline constexpr auto names_of<change_kind> = std::to_array<std::string_view>({"set", "delete", "expired"});
static_assert(count_of<change_kind> == static_cast<std::size_t>(change_kind::expired) + 1);

/// Where somebody who follows changes stands: he has all of the entries before `index`, and of that one the effects up to `effect`, counted
/// from 0 in the order in which the entry had them.
struct change_place {
  static constexpr std::uint64_t all_effects = std::numeric_limits<std::uint64_t>::max();

  log_index index;
  std::uint64_t effect = all_effects;

  auto operator<=>(const change_place&) const = default;
  bool is_whole() const { return effect == all_effects; }
};
/// `4711.0`, or `4711` for all of it.
std::string to_string(const change_place& p);

/// A place with the history that it belongs to.
struct change_cursor {
  change_place place;
  history_id history; ///< none: the cursor names none

  bool operator==(const change_cursor&) const = default;
};
/// `4711.0@9f3c2a1b00000000`; without `@` and what follows if it names no history.
std::string to_string(const change_cursor& c);
/// nullopt: it is none. The index may be zero, which names no place.
std::optional<change_cursor> read_cursor(std::string_view text);

/// One key, as one entry of the log changed it.
struct kv_change {
  log_index index;
  std::uint64_t effect = 0;
  change_kind kind = change_kind::set;
  kv_entry_ptr row;   ///< as it is after it; of one that was removed, as it was before. Never null
  log_index previous; ///< ModifyIndex before it; zero: there was no such key

  bool operator==(const kv_change&) const = default;
};

/// Changes behind `after`, in their order.
struct kv_changes {
  /// What is asked for; each counts only from where the server is now.
  enum class what : std::uint8_t {
    changes,  ///< those that are there; if there are none, whoever may wait does
    place,    ///< nothing but the place where the server is
    snapshot, ///< the keys as they are now, at `after` or later
  };

  std::vector<std::string> prefixes; ///< never empty; keys that begin with any of them
  change_place after;
  what asked = what::changes;
  std::uint8_t kinds = all_kinds; ///< one bit for each kind that is wanted
  history_id history = {};        ///< that `after` belongs to; none: the client has not named it

  static constexpr std::uint8_t all_kinds = (1U << count_of<change_kind>)-1;
  bool wants(change_kind k) const { return (kinds & (1U << static_cast<unsigned>(k))) != 0; }
  bool operator==(const kv_changes&) const = default;
};

/// The key as it was when that entry had been applied.
struct kv_at {
  std::string key;
  log_index index;
  history_id history = {}; ///< that `index` belongs to; none: the client has not named it

  bool operator==(const kv_at&) const = default;
};
/// All changes of the key that are there, the newest first.
struct kv_history {
  std::string key;

  bool operator==(const kv_history&) const = default;
};

struct change_rows {
  std::vector<kv_change> list;
  std::vector<kv_entry_ptr> rows; ///< of a snapshot
  change_place reached;           ///< behind the last that was looked at; never before the place that was asked for
  log_index floor;                ///< changes of entries up to this one are not there
  log_index applied;              ///< by the server that answers
  bool gone = false;              ///< what was asked for is below the floor, or of another history
  bool other_history = false;     ///< `gone`: it is of another history
  bool more = false;              ///< the answer is full: there may be more behind `reached`
  std::shared_ptr<const acl::authorizer> viewer =
      {};                  ///< whose permissions decided what is shown; null: ACLs are not in force
  history_id history = {}; ///< that clients are told with the cursors of this answer; none: they are told none

  /// Whoever may wait waits: nothing has happened yet, or the server is behind.
  bool nothing_yet() const { return list.empty() && !gone && !more; }
};

} // namespace belay::state
