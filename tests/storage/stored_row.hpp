#pragma once
// Rows of a checkpoint, and changes that are kept beside it, given by bytes without a meaning.

#include "protocol/base/bytes.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace belay::storage {

/// What such a row adds to the digest.
inline std::optional<std::uint64_t> hash_of_bytes(std::uint8_t table, std::string_view key, std::string_view value) {
  return (std::uint64_t{crc32c(value, crc32c(key))} << 8) + table;
}

/// Options for stores with such rows.
inline lmdb_checkpoint_options of_bytes(lmdb_checkpoint_options o = {}) {
  o.row_hash = hash_of_bytes;
  return o;
}

/// The delta with the digest of all rows that the store has after it.
inline checkpoint_delta with_digest(checkpoint_store& store, checkpoint_delta d) {
  std::map<std::pair<std::uint8_t, std::string>, std::uint64_t> rows;
  if (!d.full)
    (void)store.load([&](std::uint8_t table, std::string_view key, std::string_view value) {
      rows[{table, std::string(key)}] = *hash_of_bytes(table, key, value);
    });
  std::string buffer;
  for (const auto& r : d.rows)
    if (r.append_value)
      rows[{r.table, r.key}] = *hash_of_bytes(r.table, r.key, value_of(r, buffer));
    else
      rows.erase({r.table, r.key});
  d.digest = 0;
  for (const auto& [key, hash] : rows)
    d.digest += hash;
  return d;
}

inline row_change stored_row(std::uint8_t table, std::string key, std::string value) {
  const auto bytes = value.size();
  return {table, std::move(key), [value = std::move(value)](std::string& out) { out += value; }, bytes};
}

inline kept_row stored_change(log_index index, std::uint64_t effect, std::string value) {
  const auto bytes = value.size();
  return {index, effect, [value = std::move(value)](std::string& out) { out += value; }, bytes};
}

} // namespace belay::storage
