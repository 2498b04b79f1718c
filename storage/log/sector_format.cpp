#include "storage/log/sector_format.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>

namespace belay::storage {

namespace {

constexpr std::uint32_t sector_magic = 0xB1A75EC2;
constexpr std::size_t sector_head_bytes = 4 + 4 + 8;
constexpr std::size_t checked_bytes = sector_bytes - 4;

enum class sector_state : std::uint8_t {
  ours,      ///< of the expected frame, at its position in it
  unwritten, ///< zeros, or a sector of another frame
  damaged,
};

std::uint32_t tag_of(std::uint32_t seed, std::uint64_t sequence, std::size_t k) {
  std::string bytes;
  byte_writer w(bytes);
  w.u64(sequence);
  w.u32(static_cast<std::uint32_t>(k));
  return crc32c(bytes, seed);
}

std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  return byte_reader(bytes.substr(at)).u32();
}

bool is_valid(std::string_view sector) {
  return crc32c(sector.substr(0, checked_bytes)) == u32_at(sector, checked_bytes) || MUTANT(checksum_ignored);
}

sector_state state_of(std::string_view sector, std::uint32_t tag) {
  if (all_zero(sector))
    return sector_state::unwritten;
  if (!is_valid(sector))
    return sector_state::damaged;
  return u32_at(sector, sector_content_bytes) == tag ? sector_state::ours : sector_state::unwritten;
}

std::size_t sectors_of(std::size_t body_bytes) {
  return (sector_head_bytes + body_bytes + sector_content_bytes - 1) / sector_content_bytes;
}

struct frame_head {
  std::size_t body_bytes = 0;
  std::uint64_t sequence = 0;
};

/// nullopt: the sector does not begin a frame.
std::optional<frame_head> decode_head(std::string_view sector) {
  byte_reader r(sector);
  if (r.u32() != sector_magic)
    return std::nullopt;
  frame_head h;
  h.body_bytes = r.u32();
  h.sequence = r.u64();
  if (h.body_bytes > body_bytes_max)
    return std::nullopt;
  return h;
}

} // namespace

std::size_t sector_frame_bytes(std::size_t body_bytes) {
  return sectors_of(body_bytes) * sector_bytes;
}

void encode_sectors(std::string_view body, const segment_header& s, std::uint64_t sequence, std::string& out) {
  PRECONDITION(body.size() <= body_bytes_max);
  const auto seed = crc_seed(s);
  out.clear();
  out.reserve(sector_frame_bytes(body.size()));
  byte_writer w(out);
  w.u32(sector_magic);
  w.u32(static_cast<std::uint32_t>(body.size()));
  w.u64(sequence);
  for (std::size_t k = 0, n = sectors_of(body.size()); k < n; ++k) {
    const auto begin = k * sector_bytes;
    const auto taken = std::min(body.size(), begin + sector_content_bytes - out.size());
    out.append(body.substr(0, taken));
    body.remove_prefix(taken);
    out.resize(begin + sector_content_bytes, '\0');
    w.u32(tag_of(seed, sequence, k));
    w.u32(crc32c(std::string_view(out).substr(begin)));
  }
  INVARIANT(body.empty());
}

frame_look look_at_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence, const segment_header& s,
                           std::string& body) {
  frame_look look;
  if (offset + sector_bytes > all.size())
    return look;
  const auto seed = crc_seed(s);
  const auto sector = [&](std::size_t k) { return all.substr(offset + k * sector_bytes, sector_bytes); };
  const auto first = state_of(sector(0), tag_of(seed, sequence, 0));
  if (first == sector_state::unwritten)
    return look;
  const auto head = decode_head(sector(0));
  look.state = frame_state::damaged;
  if (first == sector_state::damaged || !head || head->sequence != sequence ||
      sector_frame_bytes(head->body_bytes) > all.size() - offset)
    return look;
  const auto n = sectors_of(head->body_bytes);
  bool unfinished = false;
  for (std::size_t k = 1; k < n; ++k) {
    const auto state = state_of(sector(k), tag_of(seed, sequence, k));
    if (state == sector_state::damaged)
      return look;
    unfinished |= state == sector_state::unwritten;
  }
  look.bytes = n * sector_bytes;
  if (unfinished) {
    look.state = frame_state::torn;
    return look;
  }
  body.clear();
  body.reserve(n * sector_content_bytes);
  for (std::size_t k = 0; k < n; ++k)
    body.append(sector(k).substr(0, sector_content_bytes));
  const auto content = std::string_view(body);
  if (!all_zero(content.substr(sector_head_bytes + head->body_bytes)))
    return look;
  look.body = content.substr(sector_head_bytes, head->body_bytes);
  look.state = frame_state::whole;
  return look;
}

std::optional<std::size_t> find_later_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence,
                                              const segment_header& s) {
  const auto seed = crc_seed(s);
  for (auto at = offset; at + sector_bytes <= all.size(); at += sector_bytes) {
    const auto sector = all.substr(at, sector_bytes);
    const auto head = decode_head(sector);
    if (head && head->sequence > sequence && state_of(sector, tag_of(seed, head->sequence, 0)) == sector_state::ours)
      return at;
  }
  return std::nullopt;
}

std::size_t unfinished_bytes(std::string_view all, std::size_t offset, std::uint64_t sequence,
                             const segment_header& s) {
  const auto seed = crc_seed(s);
  std::size_t end = offset;
  for (std::size_t at = offset, k = 0; at + sector_bytes <= all.size(); at += sector_bytes, ++k)
    if (state_of(all.substr(at, sector_bytes), tag_of(seed, sequence, k)) != sector_state::unwritten)
      end = at + sector_bytes;
  return end - offset;
}

} // namespace belay::storage
