#include "storage/snapshot_file.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/wire/entry_codec.hpp"

namespace belay::storage {

namespace {

constexpr std::string_view header_magic = "BELAYSNP";
constexpr std::string_view footer_magic = "BELAYEND";
constexpr std::uint32_t version = 1;
constexpr std::size_t block_bytes = 64u << 10; // a damaged one is found before much was read
constexpr std::size_t buffer_bytes =
    1u << 20; // big writes, each begun to be written back so that no sync finds a mountain
constexpr std::size_t header_bytes_max = 16u << 20;
constexpr std::size_t block_bytes_max = 1u << 30; // one row: a transaction of the largest values is far below

/// Reads a file front to back; a short read is a failure.
class front_reader {
public:
  explicit front_reader(file& f) : file_(f) {}

  /// The next `n` bytes; valid until the next call.
  result<std::string_view> take(std::size_t n) {
    if (have_.size() - at_ < n) {
      have_.erase(0, at_);
      at_ = 0;
      const auto old = have_.size();
      have_.resize(old + std::max(n - old, buffer_bytes));
      auto got = file_.read_at(offset_, have_.data() + old, have_.size() - old);
      if (!got)
        return failure{got.error()};
      have_.resize(old + *got);
      offset_ += *got;
      if (have_.size() < n)
        return failure{"snapshot is cut after " + std::to_string(offset_) + " bytes"};
    }
    const auto view = std::string_view(have_).substr(at_, n);
    at_ += n;
    return view;
  }

  result<bool> at_end() {
    if (at_ < have_.size())
      return false;
    char c;
    auto got = file_.read_at(offset_, &c, 1);
    if (!got)
      return failure{got.error()};
    return *got == 0;
  }

  std::uint64_t position() const { return offset_ - (have_.size() - at_); }

private:
  file& file_;
  std::string have_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
};

failure wrong(const std::string& what) {
  return failure{"snapshot is damaged: " + what};
}

result<checkpoint_info> read_header(front_reader& in, std::uint32_t& crc) {
  auto fixed = in.take(header_magic.size() + 8);
  if (!fixed)
    return failure{fixed.error()};
  byte_reader head(*fixed);
  if (head.raw(header_magic.size()) != header_magic)
    return wrong("it does not begin like one");
  if (const auto v = head.u32(); v != version)
    return failure{"snapshot has format version " + std::to_string(v) + ", which this program does not know"};
  const auto n = head.u32();
  if (n > header_bytes_max)
    return wrong("its header is too long");
  crc = crc32c(*fixed);
  auto rest = in.take(n + 4u);
  if (!rest)
    return failure{rest.error()};
  byte_reader r(*rest);
  checkpoint_info info;
  const bool meta = wire::decode_snapshot_meta(r, info.meta);
  info.digest = r.u64();
  crc = crc32c(rest->substr(0, n), crc);
  if (!meta || r.position() != n || r.u32() != crc || !r.complete())
    return wrong("its header is malformed or has a wrong checksum");
  return info;
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
  const auto start = buffer_.size();
  byte_writer w(buffer_);
  w.u32(0);
  w.u64(rows_);
  w.u32(crc32c(std::string_view(buffer_).substr(start), crc_));
  w.raw(footer_magic);
  if (auto s = flush(); !s)
    return failure{s.error()};
  return written_;
}

result<checkpoint_info> read_snapshot_file(file& f, const std::function<status(const row_view&)>& row) {
  front_reader in(f);
  std::uint32_t crc = 0;
  auto info = read_header(in, crc);
  if (!info)
    return info;
  std::uint64_t rows = 0;
  for (;;) {
    const auto at = in.position();
    auto length = in.take(4);
    if (!length)
      return failure{length.error()};
    const std::size_t n = byte_reader(*length).u32();
    if (n > block_bytes_max)
      return wrong("a block at offset " + std::to_string(at) + " is too long");
    crc = crc32c(*length, crc);
    const auto body_bytes = n == 0 ? 8 : n;
    auto rest = in.take(body_bytes + 4);
    if (!rest)
      return failure{rest.error()};
    const auto body = rest->substr(0, body_bytes);
    crc = crc32c(body, crc);
    if (byte_reader(rest->substr(body_bytes)).u32() != crc)
      return wrong("wrong checksum of the block at offset " + std::to_string(at));
    if (n == 0) {
      if (byte_reader(body).u64() != rows)
        return wrong("rows are missing");
      break;
    }
    if (auto s = read_rows(body, rows, row); !s)
      return failure{s.error()};
  }
  auto end = in.take(footer_magic.size());
  if (!end)
    return failure{end.error()};
  if (*end != footer_magic)
    return wrong("it does not end like one");
  auto at_end = in.at_end();
  if (!at_end)
    return failure{at_end.error()};
  if (!*at_end)
    return wrong("there is more behind its end");
  return info;
}

} // namespace belay::storage
