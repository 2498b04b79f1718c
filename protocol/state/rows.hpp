#pragma once
// Rows as checkpoints, archives and the change journal see them: table, key, record. Tables
// that no client reads (tombstones, lock delays, counters, staging) define their records here.

#include "protocol/base/compiled_once.hpp"
#include "protocol/state/acl/acl_records.hpp"
#include "protocol/state/claims/claim_records.hpp"
#include "protocol/state/operators/settings.hpp"
#include "protocol/state/outcomes/outcome_records.hpp"
#include "protocol/state/records.hpp"

#include <boost/container/deque.hpp>

namespace belay::state {

/// Left behind by a deleted key, or by a prefix whose keys were deleted at once.
struct tombstone {
  static constexpr table in = table::tombstones;

  std::string key;
  log_index index;      ///< index of the newest deletion of this key
  log_index tree_index; ///< index of the newest recursive delete of this prefix; zero: none
};
template <>
inline constexpr auto fields_of<tombstone> = std::tuple{
    field<&tombstone::key, "", as::by_key>{},
    field<&tombstone::index>{},
    field<&tombstone::tree_index>{},
};

/// A key that cannot be acquired before a time.
struct lock_delay_record {
  static constexpr table in = table::lock_delays;

  std::string key;
  cluster_time until;
};
template <>
inline constexpr auto fields_of<lock_delay_record> = std::tuple{
    field<&lock_delay_record::key, "", as::by_key>{},
    field<&lock_delay_record::until>{},
};

/// A named number (an index that the rows alone do not determine).
struct counter {
  static constexpr table in = table::counters;

  std::string name;
  std::uint64_t value = 0;
};
template <>
inline constexpr auto fields_of<counter> = std::tuple{
    field<&counter::name, "", as::by_key>{},
    field<&counter::value>{},
};

struct dirty_row;
using row_batch = std::shared_ptr<const std::vector<dirty_row>>;

/// Progress of a restore.
struct restore_head {
  std::string id;
  log_index archive_index;
  std::uint64_t batches = 0;
  cluster_time touched;  ///< when its last part was applied
  bool in_force = false; ///< it has replaced the tables, and its batches were removed
};
template <>
inline constexpr auto fields_of<restore_head> = std::tuple{
    field<&restore_head::id>{},      field<&restore_head::archive_index>{}, field<&restore_head::batches>{},
    field<&restore_head::touched>{}, field<&restore_head::in_force>{},
};

/// The position of each is its number in bytes. A batch is never null.
using staged_part = std::variant<restore_head, row_batch>;

/// A staged part of a restore: its head, or one batch of rows.
struct staged_record {
  static constexpr table in = table::staging;

  std::string key;
  staged_part part;
};
using staged_ptr = std::shared_ptr<const staged_record>;
template <>
inline constexpr auto fields_of<staged_record> = std::tuple{
    field<&staged_record::key, "", as::by_key>{},
    field<&staged_record::part>{},
};

/// Empty: there is no such row. Records of more than 48 bytes are stored
/// as pointers, because the journal and checkpoints have many of these.
using row_value = compiled_once<with_settings<
    std::variant<std::monostate, kv_entry_ptr, tombstone, session_ptr, lock_delay_record, node_ptr, service_ptr,
                 check_ptr, counter, staged_ptr, acl_policy_ptr, acl_role_ptr, acl_token_ptr, claim_ptr,
                 claim_resource_ptr, claim_ghost_ptr, claim_end_ptr, guard_ptr, ended_session_ptr, outcome_ptr>,
    settings_ptr>>;

/// A row as it is now, or its removal. Encoded by protocol/wire/command_codec.
struct dirty_row {
  state::table table = table::kv;
  std::string key;
  row_value row;
};

/// A growing list of rows: appending never moves the others, and storage grows by blocks of 128.
using dirty_rows =
    boost::container::deque<dirty_row, void, boost::container::deque_options<boost::container::block_size<128>>::type>;

/// The record of a row: most rows are shared pointers to one, small rows are the record itself.
template <class Record>
const Record& record_of(const Record& row) {
  return row;
}
template <record_pointer Pointer>
decltype(auto) record_of(const Pointer& row) {
  return *row;
}
template <class Row>
using record_type = std::remove_cvref_t<decltype(record_of(std::declval<const Row&>()))>;

} // namespace belay::state
