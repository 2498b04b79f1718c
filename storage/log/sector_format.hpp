#pragma once
// Frames of segments of version 2: made of sectors that verify themselves, so that a used-up
// segment is written again without filling it with zeros first. That fill was half of all bytes of
// the log.
//
//   frame: whole sectors of 512 bytes
//     504 bytes of content | u32 tag | u32 CRC32C of the 508 bytes before
//   content of a frame, over its sectors:
//     u32 0xB1A75EC2 | u32 body bytes | u64 sequence | u32 attempt | body | zeros
//   tag of sector k: CRC32C of (u64 sequence | u32 body bytes | u32 attempt | u32 k), seeded by the
//     segment's number and salt as the checksums of version 1 are
//   attempt: a random number for each write
//   body: as in version 1 (segment_format.hpp)
//
// So the sectors of a frame do not pass for those of another one: of an earlier life of the file,
// or of an unfinished write of the same sequence number.
//
// A disk writes a sector completely or not at all. So a sector of an unfinished write is either of
// that frame, or what was there before: zeros, or a sector with a correct checksum and another tag.
// Anything else is damage.

#include "storage/log/segment_format.hpp"

namespace belay::storage {

inline constexpr std::size_t sector_content_bytes = sector_bytes - 8;

/// Size of a frame with a body of `body_bytes`.
std::size_t sector_frame_bytes(std::size_t body_bytes);

/// Replaces `out` by frame `sequence` of segment `s`. `attempt` differs from that of an earlier
/// write of the same frame.
/// @pre the body has at most body_bytes_max bytes
void encode_sectors(std::string_view body, const segment_header& s, std::uint64_t sequence, std::uint32_t attempt,
                    std::string& out);

/// Like look_at_frame(). `body` receives the body of a whole frame, and the result refers to it.
frame_look look_at_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence, const segment_header& s,
                           std::string& body);

/// Like find_later_frame().
std::optional<std::size_t> find_later_sectors(std::string_view all, std::size_t offset, std::uint64_t sequence,
                                              const segment_header& s);

/// Size of the part after the last frame, which ends at `offset`, up to the last damaged sector. It
/// must be wiped: the frames before such a sector would seem to be followed by a damaged one. What
/// an unfinished write left passes for nothing else, so it may stay.
std::size_t damaged_tail_bytes(std::string_view all, std::size_t offset);

} // namespace belay::storage
