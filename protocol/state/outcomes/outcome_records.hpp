#pragma once
// The outcome of a write with an Idempotency-Key, kept for a while (docs/reference/exactly-once.md).

#include "protocol/base/ids.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belay::state {

/// Clients may resend for five minutes; a copy may be in transit for five. Outcomes outlast both.
inline constexpr std::uint64_t copy_accepted_ms = 300'000;
inline constexpr std::uint64_t outcome_kept_ms = 600'000;

inline constexpr std::size_t once_key_bytes_max = 64;
/// Limits of what is kept. Outcomes are never removed early to make space.
inline constexpr std::size_t outcomes_max = 1'000'000;
inline constexpr std::uint64_t outcome_bytes_max = 256ULL << 20;
/// With ACLs, no token may use more than 1/outcome_shares of them.
inline constexpr std::size_t outcome_shares = 4;
/// Limit of one reply, by outcome_bytes().
inline constexpr std::size_t kept_answer_bytes_max = 4096;
/// Overhead of a row.
inline constexpr std::size_t outcome_row_bytes = 256;

/// Hash of the request: method, path, sorted query and body.
struct fingerprint {
  std::uint64_t high = 0, low = 0;
  bool operator==(const fingerprint&) const = default;
};
template <>
inline constexpr auto fields_of<fingerprint> = std::tuple{
    field<&fingerprint::high, "", as::fixed>{},
    field<&fingerprint::low, "", as::fixed>{},
};

struct reply;

struct outcome_record {
  static constexpr table in = table::outcomes;

  std::string key;   ///< outcome_key()
  std::string scope; ///< accessor of the token; empty: ACLs were off
  std::string id;    ///< the Idempotency-Key
  fingerprint print; ///< zero if it was sealed
  log_index index;   ///< index of the entry that decided it
  cluster_time until;
  /// As encoded: without values that no result shows, and without members that rows in results do
  /// not have (as::later). Null: it was cancelled before any copy arrived, and never takes effect.
  std::shared_ptr<const reply> answer = nullptr;
};
using outcome_ptr = std::shared_ptr<const outcome_record>;
template <>
inline constexpr auto fields_of<outcome_record> = std::tuple{
    field<&outcome_record::key, "", as::by_key>{},
    field<&outcome_record::scope>{},
    field<&outcome_record::id>{},
    field<&outcome_record::print>{},
    field<&outcome_record::index>{},
    field<&outcome_record::until>{},
    field<&outcome_record::answer>{},
};

/// Scopes contain no slash.
std::string outcome_key(std::string_view scope, std::string_view id);
/// 1 to 64 bytes of printable ASCII without spaces or slashes; not the path steps `.` and `..`.
bool is_once_key(std::string_view id);

/// Hash of a kept reply, for the digest: of what is encoded.
std::uint64_t answer_hash(const reply& answer);
/// Whether a result shows the row of a locked key. Servers of 0.2.0 included its fencing token in
/// answer_hash() but did not encode it: their checkpoints' digests differ from those of the rows.
bool shows_locked_key(const reply& answer);
/// Approximate size in memory and as JSON: its texts, and 16 bytes for each number.
std::size_t outcome_bytes(const reply& answer);
/// The bytes that the row counts toward outcome_bytes_max.
std::size_t outcome_bytes(const outcome_record& row);

} // namespace belay::state
