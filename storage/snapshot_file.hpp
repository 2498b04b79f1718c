#pragma once
// A checkpoint as one flat file, as it travels to another server.
//
//   header   8 "BELAYSNP" | u32 version (1) | u32 bytes of what follows | snapshot meta | u64 digest | u32 CRC32C of
//   all before blocks   u32 bytes of the rows | rows | u32 CRC32C of the bytes and rows
//     row    u8 table | varint length | key | varint length | value
//   footer   u32 0 | u64 number of rows | u32 CRC32C of these 12 bytes | 8 "BELAYEND"
//
// Rows are in (table, key) order without duplicates. Each CRC continues from the one before, so that blocks that are
// missing, swapped or from another snapshot are found out. Integers are little-endian.

#include "storage/checkpoint_rows.hpp"
#include "storage/file_system.hpp"

#include <functional>
#include <optional>
#include <string>

namespace belay::storage {

/// Writes one snapshot from its beginning to its end.
class snapshot_writer {
public:
  snapshot_writer(file& f, const checkpoint_info& info);

  status add(const row_view& row);
  /// @returns the size of the file. Not durable: it can be made again.
  result<std::uint64_t> finish();

private:
  void end_block();
  status flush();

  file& file_;
  std::string block_;  ///< rows of the block under way
  std::string buffer_; ///< finished blocks, not written yet
  std::uint64_t written_ = 0;
  std::uint64_t rows_ = 0;
  std::uint32_t crc_ = 0;
};

/// Takes a snapshot in pieces of any size, checking everything.
class snapshot_parser {
public:
  /// Gives `row` every row of the blocks that are complete; it may end all with a failure. What it was given counts only
  /// after finish() was a success.
  status take(std::string_view bytes, const std::function<status(const row_view&)>& row);
  /// There is no more.
  status finish() const;
  /// After the header was taken.
  const std::optional<checkpoint_info>& info() const { return info_; }

private:
  status part(std::string_view bytes, const std::function<status(const row_view&)>& row);
  std::size_t wanted() const;

  enum class at { fixed_header, header, block_length, block, footer_magic, end };
  at at_ = at::fixed_header;
  std::string have_; ///< of the part under way
  std::size_t part_bytes_ = 0;
  bool last_ = false; ///< the block under way is the footer
  std::optional<checkpoint_info> info_;
  std::uint64_t position_ = 0, rows_ = 0;
  std::uint32_t crc_ = 0;
};

/// Reads a whole snapshot, checking everything. `row` may end it with a failure; what it was given before counts only
/// if the result is a success.
result<checkpoint_info> read_snapshot_file(file& f, const std::function<status(const row_view&)>& row);

} // namespace belay::storage
