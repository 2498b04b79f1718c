#include "storage/checkpoint/checkpoint_rows.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "storage/advice.hpp"
#include "storage/checkpoint/checked_values.hpp"
#include "storage/checkpoint/lmdb_file.hpp"

#include <algorithm>
#include <cerrno>

namespace belay::storage {

namespace {

constexpr char info_tag = 0;
constexpr char long_tag = 2;
constexpr std::size_t short_key_bytes_max = lmdb_key_bytes_max - 2;
constexpr std::size_t bucket_bytes = 2 + 4;
constexpr std::size_t long_key_bytes = bucket_bytes + 4;

const std::string info_key(1, info_tag);

std::string big_endian(std::uint64_t v, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(v >> shift));
  return out;
}

/// @pre a whole key of a long row
std::uint64_t ordinal_of(std::string_view lmdb_key) {
  std::uint64_t v = 0;
  for (const char byte : lmdb_key.substr(bucket_bytes))
    v = (v << 8) | static_cast<unsigned char>(byte);
  return v;
}

std::string tagged(char tag, std::uint8_t table) {
  return {tag, static_cast<char>(table)};
}

std::string bucket_of(std::uint8_t table, std::string_view key) {
  return tagged(long_tag, table) + big_endian(crc32c(key), 4);
}

int put_long(lmdb_transaction& txn, std::string_view lmdb_key, const row_view& row, unsigned flags) {
  std::string length;
  byte_writer(length).u32(static_cast<std::uint32_t>(row.key.size()));
  return put_checked(txn, lmdb_key, {length, row.key, row.value}, flags);
}

std::optional<row_view> decode_long(std::string_view lmdb_key, std::string_view value) {
  const auto rest = checked(lmdb_key, value);
  if (!rest || lmdb_key.size() != long_key_bytes)
    return std::nullopt;
  byte_reader r(*rest);
  const auto n = r.u32();
  row_view row;
  row.table = static_cast<std::uint8_t>(lmdb_key[1]);
  row.key = r.raw(n);
  row.value = r.raw(r.remaining());
  if (!r.complete() || !is_long_key(row.key))
    return std::nullopt;
  return row;
}

/// Finds the LMDB key of a long key. @returns 0, or MDB_NOTFOUND with `lmdb_key` the next free one.
int find_long(lmdb_transaction& txn, std::uint8_t table, std::string_view key, std::string& lmdb_key) {
  const auto bucket = bucket_of(table, key);
  lmdb_cursor c;
  if (int rc = c.open(txn); rc != 0)
    return rc;
  std::uint64_t next_ordinal = 0;
  int rc = c.seek(bucket);
  for (; rc == 0 && c.key().starts_with(bucket); rc = c.next()) {
    const auto row = decode_long(c.key(), c.value());
    if (!row)
      return MDB_CORRUPTED;
    lmdb_key = c.key();
    if (row->key == key)
      return 0;
    next_ordinal = ordinal_of(c.key()) + 1;
  }
  if (rc != 0 && rc != MDB_NOTFOUND)
    return rc;
  lmdb_key = bucket + big_endian(next_ordinal, 4);
  return MDB_NOTFOUND;
}

failure damaged(const std::string& path, const std::string& what) {
  return failure{"checkpoint is damaged: " + path + ": " + what + ". Check the disk, then " + start_empty};
}

} // namespace

bool is_long_key(std::string_view key) {
  return key.size() > short_key_bytes_max;
}

int get_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key, std::string_view& value) {
  std::string lmdb_key;
  if (is_long_key(key)) {
    if (int rc = find_long(txn, table, key, lmdb_key); rc != 0)
      return rc;
  } else {
    lmdb_key = tagged(short_row_tag, table).append(key);
  }
  if (int rc = txn.get(lmdb_key, value); rc != 0)
    return rc;
  if (is_long_key(key)) {
    const auto row = decode_long(lmdb_key, value);
    if (row)
      value = row->value;
    return row ? 0 : MDB_CORRUPTED;
  }
  const auto rest = checked(lmdb_key, value);
  if (rest)
    value = *rest;
  return rest ? 0 : MDB_CORRUPTED;
}

int put_row(lmdb_transaction& txn, const row_view& row) {
  if (!is_long_key(row.key))
    return put_checked(txn, tagged(short_row_tag, row.table).append(row.key), {row.value}, 0);
  std::string lmdb_key;
  if (int rc = find_long(txn, row.table, row.key, lmdb_key); rc != 0 && rc != MDB_NOTFOUND)
    return rc;
  return put_long(txn, lmdb_key, row, 0);
}

int remove_row(lmdb_transaction& txn, std::uint8_t table, std::string_view key) {
  std::string lmdb_key;
  int rc = 0;
  if (is_long_key(key))
    rc = find_long(txn, table, key, lmdb_key);
  else
    lmdb_key = tagged(short_row_tag, table).append(key);
  if (rc == 0)
    rc = txn.remove(lmdb_key);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

int row_appender::add(const row_view& row) {
  if (any_ && !row_view{last_table_, last_key_, {}}.before(row))
    return EINVAL;
  any_ = true;
  last_table_ = row.table;
  last_key_ = row.key;
  if (is_long_key(row.key)) {
    long_rows_.push_back({row.table, std::string(row.key), std::string(row.value)});
    return 0;
  }
  uncommitted_bytes_ += row.key.size() + row.value.size();
  if (uncommitted_bytes_ > appended_bytes_max) {
    uncommitted_bytes_ = 0;
    if (int rc = txn_.commit_and_go_on(); rc != 0)
      return rc;
  }
  return put_checked(txn_, tagged(short_row_tag, row.table).append(row.key), {row.value}, MDB_APPEND);
}

int row_appender::finish() {
  std::vector<std::pair<std::string, const owned_row*>> ordered;
  for (const auto& row : long_rows_)
    ordered.emplace_back(bucket_of(row.table, row.key), &row);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint64_t ordinal = 0;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const auto& [bucket, row] = ordered[i];
    ordinal = i > 0 && ordered[i - 1].first == bucket ? ordinal + 1 : 0;
    if (int rc = put_long(txn_, bucket + big_endian(ordinal, 4), {row->table, row->key, row->value}, MDB_APPEND);
        rc != 0)
      return rc;
  }
  return 0;
}

int put_info(lmdb_transaction& txn, const checkpoint_info& info) {
  if (int rc = txn.remove(info_key); rc != 0 && rc != MDB_NOTFOUND)
    return rc;
  std::uint64_t rows = 0;
  if (int rc = txn.entries(rows); rc != 0)
    return rc;
  std::string bytes;
  byte_writer w(bytes);
  wire::encode_snapshot_meta(w, info.meta);
  w.u64(info.digest);
  w.u64(rows);
  return put_checked(txn, info_key, {bytes}, 0);
}

result<std::optional<stored_info>> get_info(lmdb_transaction& txn, const std::string& path) {
  std::string_view value;
  const int rc = txn.get(info_key, value);
  std::uint64_t entries = 0;
  if (int e = txn.entries(entries); e != 0)
    return lmdb_failure("cannot read", path, e);
  if (rc == MDB_NOTFOUND && entries == 0)
    return std::optional<stored_info>{};
  if (rc == MDB_NOTFOUND)
    return damaged(path, "it has rows, but no record of its contents");
  if (rc != 0)
    return lmdb_failure("cannot read", path, rc);
  const auto bytes = checked(info_key, value);
  if (!bytes)
    return damaged(path, "the record of its contents has a wrong checksum or an unknown version");
  stored_info s;
  byte_reader r(*bytes);
  const bool meta = wire::decode_snapshot_meta(r, s.info.meta);
  s.info.digest = r.u64();
  s.rows = r.u64();
  if (!meta || !r.complete())
    return damaged(path, "the record of its contents is malformed");
  if (s.rows + 1 != entries)
    return damaged(path, "it has " + std::to_string(entries - 1) + " rows instead of " + std::to_string(s.rows));
  return std::optional<stored_info>(std::move(s));
}

status each_row(lmdb_transaction& txn, const std::string& path, const std::function<status(const row_view&)>& row,
                checks_ahead* ahead) {
  auto info = get_info(txn, path);
  if (!info)
    return info.reason();
  if (!*info)
    return done{};
  lmdb_cursor c;
  if (int rc = c.open(txn); rc != 0)
    return lmdb_failure("cannot read", path, rc);
  std::vector<row_view> long_rows;
  int rc = c.seek(std::string(1, long_tag));
  for (; rc == 0; rc = c.next()) {
    const auto r = decode_long(c.key(), c.value());
    if (!r)
      return damaged(path, "a row with a long key has a wrong checksum or an unknown version");
    long_rows.push_back(*r);
  }
  if (rc != MDB_NOTFOUND)
    return lmdb_failure("cannot read", path, rc);
  std::sort(long_rows.begin(), long_rows.end(), [](const row_view& a, const row_view& b) { return a.before(b); });

  std::uint64_t count = 0, short_rows = 0;
  const auto value_in = [&](const lmdb_cursor& at) -> std::optional<std::string_view> {
    if (ahead == nullptr)
      return checked(at.key(), at.value());
    return ahead->right(short_rows++) ? std::optional(checked_before(at.value())) : std::nullopt;
  };
  auto next_long = long_rows.begin();
  const auto give = [&](const row_view& r) {
    ++count;
    return row(r);
  };
  rc = c.seek(std::string(1, short_row_tag));
  for (; rc == 0 && c.key()[0] == short_row_tag; rc = c.next()) {
    const auto value = value_in(c);
    if (c.key().size() < 2 || !value)
      return damaged(path, "row " + std::to_string(count) + " has a wrong checksum or an unknown version");
    const row_view now{static_cast<std::uint8_t>(c.key()[1]), c.key().substr(2), *value};
    for (; next_long != long_rows.end() && next_long->before(now); ++next_long)
      if (auto s = give(*next_long); !s)
        return s;
    if (auto s = give(now); !s)
      return s;
  }
  if (rc != 0 && rc != MDB_NOTFOUND)
    return lmdb_failure("cannot read", path, rc);
  for (; next_long != long_rows.end(); ++next_long)
    if (auto s = give(*next_long); !s)
      return s;
  if (count != (*info)->rows)
    return damaged(path, "it has " + std::to_string(count) + " rows instead of " + std::to_string((*info)->rows));
  return done{};
}

} // namespace belay::storage
