#pragma once
// Numbers beside the rows: changes of tables and services (docs/contract/02, sections 2 and 5).

#include "protocol/state/undo_logged_map.hpp"

#include <array>

namespace belay::state {

enum class index_kind : std::uint8_t {
  kvs,
  tombstones,
  sessions,
  nodes,
  services,
  checks,
  last_extinction,  ///< when a service last lost its last instance
  all_keys_removed, ///< newest recursive delete of all keys, which leaves no tombstone
  fence_base,       ///< not an index: the difference between a grant's fencing token and its log index
  restored,         ///< entry of the newest restore of an archive
  acl_policies,
  acl_roles,
  acl_tokens,
  acl_bootstrap, ///< when the first management token, or its newest replacement, was created
  claims,        ///< newest change of claims, queues and write guards; zero: no command of claims_level was applied
  last_fence,    ///< not an index: the largest fencing token granted since then
  last_ticket,   ///< not an index: the largest ticket
  ended_sessions,
};

/// The names in checkpoints; never change one.
template <>
inline constexpr auto names_of<index_kind> = std::to_array<std::string_view>(
    {"kvs", "tombstones", "sessions", "nodes", "services", "checks", "last-extinction", "all-keys-removed",
     "fence-base", "restored", "acl-policies", "acl-roles", "acl-tokens", "acl-bootstrap", "claims", "last-fence",
     "last-ticket", "ended-sessions"});
static_assert(count_of<index_kind> == static_cast<std::size_t>(index_kind::ended_sessions) + 1);

class counters {
public:
  explicit counters(undo_log& log) : log_(log), services_(log, table::counters) {}

  /// Zero: never.
  log_index at(index_kind m) const { return log_index{indexes_[static_cast<std::size_t>(m)].value}; }
  void set(index_kind m, log_index index);

  /// Zero: the service has no instance.
  log_index of_service(std::string_view name) const;
  void set_service(std::string_view name, log_index index);
  void drop_service(std::string_view name);

  void put(counter row);
  void erase(std::string_view name);
  void append_rows(std::vector<dirty_row>& out) const;
  std::uint64_t recompute_digest() const;
  static table number() { return table::counters; }
  /// Recomputes the hashes. @returns what differs; nullopt: nothing
  std::optional<std::string> recount() const;
  /// The marks are rows, too.
  auto maps() const { return std::tie(*this); }
  auto beside() const { return std::tuple{}; }

private:
  struct slot {
    std::uint64_t value = 0;
    std::uint64_t hash = 0;
    undo_log::bookmark index_kind;
  };
  void set_slot(std::size_t i, std::uint64_t value);

  undo_log& log_;
  std::array<slot, count_of<index_kind>> indexes_; // an array, because index_kind::kvs changes with every write
  undo_logged_map<counter> services_;
};

} // namespace belay::state
