#pragma once
// The history that an index belongs to. Two clusters have entries with the same index, and so does
// one cluster before and after the recovery of a survivor. A restored archive brings back lower
// indexes of rows. A cursor names its history, so that a server can recognize cursors that it never
// returned (docs/reference/changes.md, Cursors).

#include "protocol/base/ids.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace belay::state {

/// The same number on every server of a cluster that has applied the same restores:
///
///     bits 63..32  hash of the cluster's id: set at formation and by `belay operator raft recover`
///     bits 31..0   index of the newest entry that committed a restore, modulo 2^32; zero: none
///
/// Clients store it in the 64 bits of a key's flags, where zero means
/// that no history is named. It is not a secret and proves nothing.
class history_id {
public:
  /// Names no history, like the cursors of 0.2.0.
  constexpr history_id() = default;
  constexpr explicit history_id(std::uint64_t value) : value_(value) {}
  /// @pre cluster_id is not zero
  static history_id of(std::uint64_t cluster_id, log_index restored_at);
  /// The history of a cursor that cannot be parsed; no server has it.
  static constexpr history_id unreadable() { return history_id{std::numeric_limits<std::uint64_t>::max()}; }

  constexpr bool is_none() const { return value_ == 0; }
  constexpr std::uint64_t value() const { return value_; }
  constexpr bool same_cluster(history_id other) const { return value_ >> 32 == other.value_ >> 32; }
  constexpr bool operator==(const history_id&) const = default;

private:
  std::uint64_t value_ = 0;
};
/// 16 hexadecimal digits.
std::string to_string(history_id h);

/// A server's own data about its history, beside the replicated
/// tables. Not replicated; no digest covers it.
struct history_scope {
  std::uint64_t cluster_id = 0; ///< zero: it does not know its cluster yet
  /// Whether returned cursors name their history. False: some
  /// server may have version 0.2.0 and could not read them.
  bool named = false;

  bool operator==(const history_scope&) const = default;
};

} // namespace belay::state
