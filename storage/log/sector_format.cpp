#include "storage/log/sector_format.hpp"

#include "protocol/base/bytes.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>

namespace belay::storage {

namespace {

constexpr std::uint32_t sector_magic = 0xB1A75EC2;
constexpr std::size_t sector_head_bytes = 4 + 4 + 8 + 4;
constexpr std::size_t checked_bytes = sector_bytes - 4;

/// What the sectors of one frame have in common.
struct sector_head {
  std::uint32_t body_bytes = 0;
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 0;
};

/// Seed of the tags of a frame's sectors.
std::uint32_t tag_seed(const sector_head& h, std::uint32_t segment_seed) {
  std::string bytes;
  byte_writer w(bytes);
  w.u64(h.sequence);
  w.u32(h.body_bytes);
  w.u32(h.attempt);
  return crc32c(bytes, segment_seed);
}

std::uint32_t tag_of(std::size_t k, std::uint32_t seed) {
  std::string bytes;
  byte_writer w(bytes);
  w.u32(static_cast<std::uint32_t>(k));
  return crc32c(bytes, seed);
}

std::uint32_t u32_at(std::string_view bytes, std::size_t at) {
  return byte_reader(bytes.substr(at)).u32();
}

/// Whether a write has completed it: it is as some write left it, or as a new file has it.
bool is_intact(std::string_view sector) {
  return all_zero(sector) || crc32c(sector.substr(0, checked_bytes)) == u32_at(sector, checked_bytes) ||
         MUTANT(checksum_ignored);
}

std::size_t sectors_of(std::size_t body_bytes) {
  return (sector_head_bytes + body_bytes + sector_content_bytes - 1) / sector_content_bytes;
}

/// nullopt: the sector does not begin a frame of that segment.
std::optional<sector_head> decode_head(std::string_view sector, std::uint32_t seed) {
  byte_reader r(sector);
  if (r.u32() != sector_magic)
    return std::nullopt;
  sector_head h;
  h.body_bytes = r.u32();
  h.sequence = r.u64();
  h.attempt = r.u32();
  if (u32_at(sector, sector_content_bytes) != tag_of(0, tag_seed(h, seed)))
    return std::nullopt;
  return h;
}

} // namespace

std::size_t sector_frame_bytes(std::size_t body_bytes) {
  return sectors_of(body_bytes) * sector_bytes;
}

void encode_sectors(std::string_view body, const segment_header& s, std::uint64_t sequence, std::uint32_t attempt,
                    std::string& out) {
  PRECONDITION(body.size() <= body_bytes_max);
  PRECONDITION(s.version == segment_version::sectors);
  const sector_head head{static_cast<std::uint32_t>(body.size()), sequence, attempt};
  const auto seed = tag_seed(head, crc_seed(s));
  out.clear();
  out.reserve(sector_frame_bytes(body.size()));
  byte_writer w(out);
  w.u32(sector_magic);
  w.u32(head.body_bytes);
  w.u64(head.sequence);
  w.u32(head.attempt);
  for (std::size_t k = 0, n = sectors_of(head.body_bytes); k < n; ++k) {
    const auto begin = k * sector_bytes;
    const auto taken = std::min(body.size(), begin + sector_content_bytes - out.size());
    out.append(body.substr(0, taken));
    body.remove_prefix(taken);
    out.resize(begin + sector_content_bytes, '\0');
    w.u32(tag_of(k, seed));
    w.u32(crc32c(std::string_view(out).substr(begin)));
  }
  INVARIANT(body.empty());
  INVARIANT(out.size() == sector_frame_bytes(head.body_bytes)); // a reader finds the next frame by it
}

frame_look look_at_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence, const segment_header& s,
                           std::string& body) {
  frame_look look;
  if (offset + sector_bytes > all.size())
    return look;
  const auto seed = crc_seed(s);
  const auto sector = [&](std::size_t k) { return all.substr(offset + k * sector_bytes, sector_bytes); };
  look.state = frame_state::damaged;
  if (!is_intact(sector(0)))
    return look;
  const auto head = decode_head(sector(0), seed);
  if (!head) {
    look.state = frame_state::none;
    return look;
  }
  if (head->sequence != sequence || head->body_bytes > body_bytes_max ||
      sector_frame_bytes(head->body_bytes) > all.size() - offset)
    return look;
  const auto n = sectors_of(head->body_bytes);
  const auto tags = tag_seed(*head, seed);
  bool unfinished = false;
  for (std::size_t k = 1; k < n; ++k) {
    if (!is_intact(sector(k)))
      return look;
    unfinished |= u32_at(sector(k), sector_content_bytes) != tag_of(k, tags) && !MUTANT(sector_tag_ignored);
  }
  if (unfinished) {
    look.state = frame_state::torn;
    return look;
  }
  body.clear();
  body.reserve(n * sector_content_bytes);
  for (std::size_t k = 0; k < n; ++k)
    body.append(sector(k).substr(0, sector_content_bytes));
  INVARIANT(sector_head_bytes + head->body_bytes <= body.size());
  const auto found = std::string_view(body).substr(sector_head_bytes, head->body_bytes);
  if (!all_zero(std::string_view(body).substr(sector_head_bytes + found.size())))
    return look;
  look.body = found;
  look.bytes = n * sector_bytes;
  look.state = frame_state::whole;
  return look;
}

std::optional<std::size_t> find_later_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence,
                                              const segment_header& s) {
  const auto seed = crc_seed(s);
  for (auto at = offset; at + sector_bytes <= all.size(); at += sector_bytes) {
    const auto sector = all.substr(at, sector_bytes);
    const auto head = decode_head(sector, seed);
    if (head && head->sequence > sequence && is_intact(sector))
      return at;
  }
  return std::nullopt;
}

std::size_t damaged_tail_bytes(std::string_view all, std::size_t offset) {
  auto end = offset;
  for (auto at = offset; at + sector_bytes <= all.size(); at += sector_bytes)
    if (!is_intact(all.substr(at, sector_bytes)))
      end = at + sector_bytes;
  return end - offset;
}

} // namespace belay::storage
