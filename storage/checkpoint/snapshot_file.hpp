#pragma once
// Writes and parses a checkpoint as one flat file, for a server whose log is too far behind, and
// for operators' archives.
//
//   part      bytes    what
//   header    8        "BELAYSNP"
//             4        u32 version, 1
//             4        u32 bytes of the next two fields
//             varies   snapshot meta (protocol/wire/entry_codec.hpp)
//             8        u64 digest of the state machine
//             4        u32 CRC32C of all before
//   blocks    4        u32 bytes of the rows
//             varies   rows, each: u8 table | varint length | key | varint length | value
//             4        u32 CRC32C of the two fields before
//   footer    4        u32 0
//             8        u64 number of rows
//             4        u32 CRC32C of the two fields before
//             8        "BELAYEND"
//
// Rows are in (table, key) order without duplicates. Each CRC is seeded with the previous one, so
// that missing, swapped or foreign blocks are detected. Integers are little-endian.

#include "storage/checkpoint/checkpoint_rows.hpp"
#include "storage/file_system.hpp"

#include <functional>
#include <optional>
#include <string>

namespace belay::storage {

/// Writes one snapshot from beginning to end.
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
  std::string block_;  ///< rows of the unfinished block
  std::string buffer_; ///< finished blocks, not written yet
  std::uint64_t written_ = 0;
  std::uint64_t rows_ = 0;
  std::uint32_t crc_ = 0;
};

/// Parses a snapshot in pieces of any size, and checks everything.
class snapshot_parser {
public:
  /// Values are far smaller.
  static constexpr std::size_t usual_block_bytes_max = std::size_t{1} << 30;

  /// @param block_bytes_max bytes buffered before a checksum is verified
  explicit snapshot_parser(std::size_t block_bytes_max = usual_block_bytes_max) : block_bytes_max_(block_bytes_max) {}

  /// Takes the next bytes and calls `row` for each row of complete blocks;
  /// a failure of `row` ends it. Rows are valid only if finish() succeeds.
  status take(std::string_view bytes, const std::function<status(const row_view&)>& row);
  /// Call at the end of the bytes. @returns a failure if that is not the end of the snapshot
  status finish() const;
  /// nullopt until the header is complete.
  const std::optional<checkpoint_info>& info() const { return info_; }

private:
  status part(std::string_view bytes, const std::function<status(const row_view&)>& row);
  std::size_t wanted() const;

  std::size_t block_bytes_max_;
  enum class at { fixed_header, header, block_length, block, footer_magic, end };
  at at_ = at::fixed_header;
  std::string have_; ///< bytes of the incomplete part
  std::size_t part_bytes_ = 0;
  bool last_ = false; ///< the incomplete block is the footer
  std::optional<checkpoint_info> info_;
  std::uint64_t position_ = 0, rows_ = 0;
  std::uint32_t crc_ = 0;
};

/// Reads a whole snapshot, and checks everything. A failure of `row` ends it.
/// Rows are valid only if the result is a success.
result<checkpoint_info> read_snapshot_file(file& f, const std::function<status(const row_view&)>& row);

} // namespace belay::storage
