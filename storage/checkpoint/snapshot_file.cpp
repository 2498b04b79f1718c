#include "storage/checkpoint/snapshot_file.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/wire/entry_codec.hpp"

#include <algorithm>

namespace belay::storage {

namespace {

constexpr std::string_view header_magic = "BELAYSNP";
constexpr std::string_view footer_magic = "BELAYEND";
constexpr std::uint32_t version = 1;
constexpr std::size_t block_bytes = 64u << 10; // a damaged block is detected before much was read
// The writeback of each write starts at once, so that the final sync is short. Linux writes back in
// pieces that are at most as large as a write was, so larger ones would not be paced
// (storage/paced_writeback.hpp).
constexpr std::size_t buffer_bytes = 256u << 10;
constexpr std::size_t header_bytes_max = 16u << 20;

failure wrong(const std::string& what) {
  return failure{"snapshot is damaged: " + what};
}

status read_rows(std::string_view block, std::uint64_t& rows, const std::function<status(const row_view&)>& row) {
  byte_reader r(block);
  while (r.ok() && r.remaining() > 0) {
    row_view v;
    v.table = r.u8();
    v.key = r.text();
    v.value = r.text();
    if (!r.ok())
      return wrong("a row is malformed");
    ++rows;
    if (auto s = row(v); !s)
      return s;
  }
  return done{};
}

} // namespace

snapshot_writer::snapshot_writer(file& f, const checkpoint_info& info) : file_(f) {
  std::string about;
  byte_writer a(about);
  wire::encode_snapshot_meta(a, info.meta);
  a.u64(info.digest);
  INVARIANT(about.size() <= header_bytes_max); // the parser takes no more
  byte_writer w(buffer_);
  w.raw(header_magic);
  w.u32(version);
  w.u32(static_cast<std::uint32_t>(about.size()));
  w.raw(about);
  crc_ = crc32c(buffer_);
  w.u32(crc_);
}

status snapshot_writer::add(const row_view& row) {
  byte_writer w(block_);
  w.u8(row.table);
  w.text(row.key);
  w.text(row.value);
  ++rows_;
  if (block_.size() >= block_bytes)
    end_block();
  return buffer_.size() >= buffer_bytes ? flush() : status(done{});
}

void snapshot_writer::end_block() {
  if (block_.empty())
    return;
  INVARIANT(block_.size() <= snapshot_parser::usual_block_bytes_max);
  const auto start = buffer_.size();
  byte_writer w(buffer_);
  w.u32(static_cast<std::uint32_t>(block_.size()));
  w.raw(block_);
  crc_ = crc32c(std::string_view(buffer_).substr(start), crc_);
  w.u32(crc_);
  block_.clear();
}

status snapshot_writer::flush() {
  if (auto s = file_.write_at(written_, {buffer_}); !s)
    return s;
  file_.begin_writeback(written_, buffer_.size());
  written_ += buffer_.size();
  buffer_.clear();
  return done{};
}

result<std::uint64_t> snapshot_writer::finish() {
  end_block();
  INVARIANT(block_.empty()); // a row that is counted is in the file
  const auto start = buffer_.size();
  byte_writer w(buffer_);
  w.u32(0);
  w.u64(rows_);
  w.u32(crc32c(std::string_view(buffer_).substr(start), crc_));
  w.raw(footer_magic);
  if (auto s = flush(); !s)
    return s.reason();
  return written_;
}

std::size_t snapshot_parser::wanted() const {
  switch (at_) {
  case at::fixed_header:
    return header_magic.size() + 8;
  case at::header:
  case at::block:
    return part_bytes_;
  case at::block_length:
    return 4;
  case at::footer_magic:
    return footer_magic.size();
  case at::end:
    break;
  }
  return 0;
}

status snapshot_parser::take(std::string_view bytes, const std::function<status(const row_view&)>& row) {
  while (!bytes.empty()) {
    if (at_ == at::end)
      return wrong("there is data after its end");
    const auto n = std::min(bytes.size(), wanted() - have_.size());
    // A part that arrived in one piece is not copied.
    std::string_view whole = bytes.substr(0, n);
    if (!have_.empty() || n < wanted()) {
      have_.append(whole);
      whole = have_;
    }
    bytes.remove_prefix(n);
    position_ += n;
    if (whole.size() < wanted())
      return done{};
    if (auto s = part(whole, row); !s)
      return s;
    have_.clear();
  }
  return done{};
}

/// Parses one complete part of the file, whose kind and length the previous part determined. The
/// checksum covers everything from the start of the file, and is compared after the header and
/// after each block.
status snapshot_parser::part(std::string_view bytes, const std::function<status(const row_view&)>& row) {
  byte_reader r(bytes);
  switch (at_) {
  case at::fixed_header: {
    if (r.raw(header_magic.size()) != header_magic)
      return wrong("it does not begin like a snapshot");
    if (const auto v = r.u32(); v != version)
      return failure{"snapshot has format version " + std::to_string(v) + ", which this program does not support"};
    const auto n = r.u32();
    if (n > header_bytes_max)
      return wrong("its header is too long");
    crc_ = crc32c(bytes);
    part_bytes_ = n + 4u;
    at_ = at::header;
    return done{};
  }
  case at::header: {
    const auto n = part_bytes_ - 4;
    checkpoint_info info;
    const bool meta = wire::decode_snapshot_meta(r, info.meta);
    info.digest = r.u64();
    crc_ = crc32c(bytes.substr(0, n), crc_);
    if (!meta || r.position() != n || r.u32() != crc_ || !r.complete())
      return wrong("its header is malformed or has a wrong checksum");
    info_ = std::move(info);
    at_ = at::block_length;
    return done{};
  }
  case at::block_length: {
    const std::size_t n = r.u32();
    if (n > block_bytes_max_)
      return wrong("a block at offset " + std::to_string(position_ - bytes.size()) + " is too long");
    crc_ = crc32c(bytes, crc_);
    last_ = n == 0;
    part_bytes_ = (last_ ? 8 : n) + 4; // with the checksum
    at_ = at::block;
    return done{};
  }
  case at::block: {
    const auto body = bytes.substr(0, bytes.size() - 4);
    crc_ = crc32c(body, crc_);
    if (byte_reader(bytes.substr(body.size())).u32() != crc_)
      return wrong("wrong checksum of the block that ends at offset " + std::to_string(position_));
    at_ = last_ ? at::footer_magic : at::block_length;
    if (!last_)
      return read_rows(body, rows_, row);
    return byte_reader(body).u64() == rows_ ? status(done{}) : wrong("rows are missing");
  }
  case at::footer_magic:
    at_ = at::end;
    return bytes == footer_magic ? status(done{}) : wrong("it does not end like a snapshot");
  case at::end:
    break;
  }
  return done{};
}

status snapshot_parser::finish() const {
  if (at_ != at::end)
    return failure{"snapshot is cut after " + std::to_string(position_) + " bytes"};
  return done{};
}

result<checkpoint_info> read_snapshot_file(file& f, const std::function<status(const row_view&)>& row) {
  snapshot_parser parser;
  std::string buffer(buffer_bytes, '\0');
  std::uint64_t offset = 0;
  for (;;) {
    auto got = f.read_at(offset, buffer.data(), buffer.size());
    if (!got)
      return got.reason();
    if (*got == 0)
      break;
    offset += *got;
    if (auto s = parser.take(std::string_view(buffer).substr(0, *got), row); !s)
      return s.reason();
  }
  if (auto s = parser.finish(); !s)
    return s.reason();
  INVARIANT(parser.info().has_value());
  return *parser.info();
}

} // namespace belay::storage
