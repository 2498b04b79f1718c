#include "storage/log/segment_format.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/wire/entry_codec.hpp"
#include "storage/log/sector_format.hpp"

#include <algorithm>
#include <cstring>

namespace belay::storage {

namespace {

constexpr std::string_view segment_magic = "BELAYSEG";
constexpr std::uint8_t body_version = 1;
// Neither has a zero byte at its outer end: the first and last byte show whether a header was cut.
constexpr std::uint32_t frame_magic = 0xB1A7F4A3;
constexpr std::uint32_t frame_begin = 0xB15E5D9C;
constexpr std::string_view frame_trailer = "BELAYEND";

constexpr std::uint8_t has_hard = 1;
constexpr std::uint8_t has_restart = 2;
constexpr std::uint8_t has_truncate = 4;

/// Calls `piece` for each part of the bytes within one sector; `bytes` are at `offset` of the file.
template <class F>
void each_sector_piece(std::string_view bytes, std::uint64_t offset, F piece) {
  while (!bytes.empty()) {
    const auto n = std::min<std::size_t>(bytes.size(), sector_bytes - offset % sector_bytes);
    piece(bytes.substr(0, n));
    bytes.remove_prefix(n);
    offset += n;
  }
}

std::size_t count_zero_sectors(std::string_view bytes, std::uint64_t offset) {
  std::size_t n = 0;
  each_sector_piece(bytes, offset, [&n](std::string_view piece) { n += all_zero(piece); });
  return n;
}

void encode_batch(byte_writer& w, const raft::persist_batch& b) {
  w.u8(static_cast<std::uint8_t>((b.hard ? has_hard : 0) | (b.restart_after ? has_restart : 0) |
                                 (b.truncate_from ? has_truncate : 0)));
  if (b.hard)
    wire::encode_hard_state(w, *b.hard);
  if (b.restart_after)
    w.u64(b.restart_after->index.value);
  if (b.truncate_from)
    w.u64(b.truncate_from->value);
  w.varint(b.entries.size());
  for (const auto& e : b.entries)
    wire::encode_entry(w, e);
}

void decode_batch(byte_reader& r, raft::persist_batch& b) {
  const auto flags = r.u8();
  if ((flags & ~(has_hard | has_restart | has_truncate)) != 0)
    r.fail();
  if ((flags & has_hard) != 0 && !wire::decode_hard_state(r, b.hard.emplace()))
    return;
  if ((flags & has_restart) != 0)
    b.restart_after.emplace().index = log_index{r.u64()};
  if ((flags & has_truncate) != 0)
    b.truncate_from = log_index{r.u64()};
  const auto n = r.varint();
  if (n > r.remaining())
    r.fail();
  for (std::uint64_t i = 0; r.ok() && i < n; ++i) {
    raft::entry e;
    if (!wire::decode_entry(r, e))
      return;
    if (!b.entries.empty() && e.index != b.entries.back().index.next())
      r.fail();
    b.entries.push_back(std::move(e));
  }
}

} // namespace

std::uint32_t crc_seed(const segment_header& s) {
  std::string bytes;
  byte_writer w(bytes);
  w.u64(s.number);
  w.u64(s.salt);
  return crc32c(bytes);
}

bool all_zero(std::string_view bytes) {
  // Compares the bytes with themselves shifted by one: memcmp is far faster than a loop.
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::string encode_segment_header(const segment_header& h) {
  std::string out;
  byte_writer w(out);
  w.raw(segment_magic);
  w.u32(static_cast<std::uint32_t>(h.version));
  w.u64(h.number);
  w.u64(h.file_bytes);
  w.u64(h.salt);
  w.u64(h.first_sequence);
  w.u64(h.next_index.value);
  wire::encode_hard_state(w, h.hard);
  w.u32(crc32c(out));
  INVARIANT(out.size() <= segment_header_bytes);
  out.resize(segment_header_bytes);
  return out;
}

result<segment_header> decode_segment_header(std::string_view bytes) {
  byte_reader r(bytes.substr(0, segment_header_bytes));
  if (r.raw(segment_magic.size()) != segment_magic)
    return failure{"is not a log segment"};
  const auto version = r.u32();
  if (r.ok() && version != static_cast<std::uint32_t>(segment_version::aligned_frames) &&
      version != static_cast<std::uint32_t>(segment_version::sectors))
    return failure{"has format version " + std::to_string(version) + ", which this program does not support"};
  segment_header h;
  h.version = static_cast<segment_version>(version);
  h.number = r.u64();
  h.file_bytes = r.u64();
  h.salt = r.u64();
  h.first_sequence = r.u64();
  h.next_index = log_index{r.u64()};
  const bool hard = wire::decode_hard_state(r, h.hard);
  const auto crc = crc32c(bytes.substr(0, r.position()));
  if (!hard || r.u32() != crc || !r.ok())
    return failure{"has a wrong checksum in its header"};
  if (!all_zero(bytes.substr(r.position(), segment_header_bytes - r.position())))
    return failure{"has nonzero bytes after its header"};
  return h;
}

std::size_t frame_bytes(std::size_t body_bytes) {
  const auto n = frame_header_bytes + body_bytes + frame_trailer_bytes;
  return (n + frame_align - 1) / frame_align * frame_align;
}

std::size_t batches_bytes_max(const std::vector<raft::persist_batch>& batches) {
  std::size_t n = 1 + 10;
  for (const auto& b : batches) {
    n += 1 + 17 + 8 + 8 + 10;
    for (const auto& e : b.entries)
      n += wire::entry_bytes_max(e);
  }
  return n;
}

void encode_frame(const std::vector<raft::persist_batch>& batches, std::string& out) {
  out.assign(frame_header_bytes, '\0');
  const auto body_max = batches_bytes_max(batches);
  out.reserve(frame_bytes(body_max));
  byte_writer w(out);
  w.u8(body_version);
  w.varint(batches.size());
  for (const auto& b : batches)
    encode_batch(w, b);
  const auto body = out.size() - frame_header_bytes;
  PRECONDITION(body <= body_bytes_max);
  INVARIANT(body <= body_max); // callers limit their appends by it
  const auto total = frame_bytes(body);
  INVARIANT(out.size() + frame_trailer_bytes <= total);
  out.resize(total - frame_trailer_bytes);
  out.append(frame_trailer);
  // encoded_body() reads the size of the body here.
  for (std::size_t i = 0; i < 4; ++i)
    out[4 + i] = static_cast<char>(body >> (8 * i));
}

std::string_view encoded_body(std::string_view frame) {
  PRECONDITION(frame.size() >= frame_header_bytes);
  return frame.substr(frame_header_bytes, byte_reader(frame.substr(4)).u32());
}

void seal_frame(std::string& frame, const segment_header& s, std::uint64_t sequence, std::uint64_t offset) {
  PRECONDITION(offset % frame_align == 0); // its header does not cross a sector
  const auto body = encoded_body(frame);
  PRECONDITION(frame.size() == frame_bytes(body.size())); // a reader finds the next frame by it
  const auto seed = crc_seed(s);
  // The sector with the header is never all zeros, whatever follows in it.
  const auto first = std::min<std::size_t>(frame.size(), sector_bytes - offset % sector_bytes);
  const auto zeros = count_zero_sectors(std::string_view(frame).substr(first), offset + first);
  std::string header;
  byte_writer w(header);
  w.u32(frame_magic);
  w.u32(static_cast<std::uint32_t>(body.size()));
  w.u64(sequence);
  w.u32(crc32c(body, seed));
  w.u32(static_cast<std::uint32_t>(zeros));
  w.u32(crc32c(header, seed));
  w.u32(frame_begin);
  INVARIANT(header.size() == frame_header_bytes);
  std::copy(header.begin(), header.end(), frame.begin());
}

std::optional<frame_header> decode_frame_header(std::string_view bytes, const segment_header& s) {
  byte_reader r(bytes);
  if (r.u32() != frame_magic)
    return std::nullopt;
  frame_header h;
  h.body_bytes = r.u32();
  h.sequence = r.u64();
  h.body_crc = r.u32();
  h.zero_sectors = r.u32();
  const auto crc = r.u32();
  if (r.u32() != frame_begin || !r.ok() || h.body_bytes > body_bytes_max)
    return std::nullopt;
  if (crc != crc32c(bytes.substr(0, 24), crc_seed(s)))
    return std::nullopt;
  return h;
}

frame_look look_at_frame(std::string_view all, std::size_t offset, std::uint64_t sequence, const segment_header& s,
                         std::string& buffer) {
  if (s.version == segment_version::sectors)
    return look_at_sectors(all, offset, sequence, s, buffer);
  frame_look look;
  if (offset + frame_header_bytes > all.size())
    return look;
  const auto head = all.substr(offset, frame_header_bytes);
  if (all_zero(head))
    return look;
  const auto h = decode_frame_header(head, s);
  if (!h) {
    // Cut at a byte when it was written (the end is missing) or wiped (the beginning is missing).
    look.state = head.front() == 0 || head.back() == 0 ? frame_state::torn : frame_state::damaged;
    return look;
  }
  const auto bytes = frame_bytes(h->body_bytes);
  if (h->sequence != sequence || bytes > all.size() - offset) {
    look.state = frame_state::damaged;
    return look;
  }
  look.bytes = bytes;
  const auto frame = all.substr(offset, bytes);
  const auto body = frame.substr(frame_header_bytes, h->body_bytes);
  const auto after = frame.substr(frame_header_bytes + h->body_bytes);
  const bool right_end = after.substr(after.size() - frame_trailer_bytes) == frame_trailer &&
                         all_zero(after.substr(0, after.size() - frame_trailer_bytes));
  if (right_end && (crc32c(body, crc_seed(s)) == h->body_crc || MUTANT(checksum_ignored))) {
    look.state = frame_state::whole;
    look.body = body;
    return look;
  }
  const bool unwritten = frame.back() == 0 || count_zero_sectors(frame, offset) > h->zero_sectors;
  look.state = unwritten ? frame_state::torn : frame_state::damaged;
  return look;
}

std::optional<std::size_t> find_later_frame(std::string_view all, std::size_t offset, std::uint64_t sequence,
                                            const segment_header& s) {
  if (s.version == segment_version::sectors)
    return find_later_sectors(all, offset, sequence, s);
  for (auto at = (offset + frame_align - 1) / frame_align * frame_align; at + frame_header_bytes <= all.size();
       at += frame_align) {
    const auto h = decode_frame_header(all.substr(at, frame_header_bytes), s);
    if (h && h->sequence > sequence)
      return at;
  }
  return std::nullopt;
}

std::size_t tail_to_wipe(std::string_view all, std::size_t offset, const segment_header& s) {
  if (s.version == segment_version::sectors)
    return damaged_tail_bytes(all, offset);
  const auto used = all.find_last_not_of('\0') + 1;
  return used > offset ? used - offset : 0;
}

std::optional<std::vector<raft::persist_batch>> decode_body(std::string_view body) {
  byte_reader r(body);
  if (r.u8() != body_version)
    r.fail();
  const auto n = r.varint();
  if (n > r.remaining())
    r.fail();
  std::vector<raft::persist_batch> batches;
  for (std::uint64_t i = 0; r.ok() && i < n; ++i)
    decode_batch(r, batches.emplace_back());
  if (!r.complete())
    return std::nullopt;
  return batches;
}

} // namespace belay::storage
