#pragma once
// What became of a write that was sent with an Idempotency-Key, kept for a while (docs/exactly-once.md).

#include "protocol/base/ids.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belay::state {

/// A client may send a write again for five minutes, and each copy may be under way for five: while one can come, its outcome is known.
inline constexpr std::uint64_t copy_accepted_ms = 300'000;
inline constexpr std::uint64_t outcome_kept_ms = 600'000;

inline constexpr std::size_t once_key_bytes_max = 64;
/// The most that is kept; nothing is forgotten early for what comes after it.
inline constexpr std::size_t outcomes_max = 1'000'000;
inline constexpr std::uint64_t outcome_bytes_max = 256ULL << 20;
/// Where ACLs are in force no token has more than one in so many of them.
inline constexpr std::size_t outcome_shares = 4;
/// Of one answer, by outcome_bytes().
inline constexpr std::size_t kept_answer_bytes_max = 4096;
/// What a row takes besides what is in it.
inline constexpr std::size_t outcome_row_bytes = 256;

/// What was asked for: of method, path, sorted query and body.
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
  std::string scope; ///< accessor of the token; empty: ACLs were not in force
  std::string id;    ///< the Idempotency-Key
  fingerprint print; ///< of what was sealed: zero
  log_index index;   ///< of the entry that decided it
  cluster_time until;
  /// As its bytes have it: without values that no result shows, and without what rows in answers do not carry
  /// (as::later). Null: it was sealed before any copy came, and never takes effect.
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

/// Scopes have no slash in them.
std::string outcome_key(std::string_view scope, std::string_view id);
/// Printable ASCII without blanks and slashes, 1 to 64 bytes of it, and no step of a path (`.`, `..`).
bool is_once_key(std::string_view id);

/// Of an answer that is kept, for the digest: of what its bytes have.
std::uint64_t answer_hash(const reply& answer);
/// Whether a result shows the row of a locked key. Servers of 0.2.0 counted its fencing token in answer_hash(), and did not
/// write it: the digests of their checkpoints differ from those of the rows.
bool shows_locked_key(const reply& answer);
/// About what it takes, and what it takes as JSON: its texts, and 16 bytes for each number.
std::size_t outcome_bytes(const reply& answer);
/// What the row counts for in outcome_bytes_max.
std::size_t outcome_bytes(const outcome_record& row);

} // namespace belay::state
