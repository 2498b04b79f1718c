#pragma once
// The bytes of a segment file of the Raft log: writing, reading, and how to distinguish a
// write that a crash interrupted from damage. Integers are little-endian.
//
//   offset 0, 512 bytes: segment header
//     8 "BELAYSEG" | u32 version (1 or 2) | u64 number | u64 file bytes | u64 salt | u64 first sequence | u64 next index
//     | hard state | u32 CRC32C of all before | zeros
//   from offset 512, frames one after the other. In version 2 they have the layout of
//   sector_format.hpp; in version 1 each is a multiple of 32 bytes, and zeros follow to the end:
//     frame header, 32 bytes:
//       u32 0xB1A7F4A3 | u32 body bytes | u64 sequence | u32 body CRC32C | u32 zero sectors
//       | u32 CRC32C of the 24 bytes before | u32 0xB15E5D9C
//     body
//     padding: zeros, so that the frame ends on a multiple of 32
//     trailer, 8 bytes: "BELAYEND"
//   body: u8 version (1) | varint number of batches | batches
//     batch: u8 flags (1 hard state, 2 restart, 4 truncate) | hard state | u64 restart after | u64 truncate from
//            | varint number of entries | entries (protocol/wire/entry_codec)
//
// One append is one frame, written at once and synced before the next one begins. Both CRCs of a
// frame are seeded with the CRC of the segment's number and salt, and sequence numbers never repeat
// in a log. So bytes of another segment or of a client's value are never mistaken for a frame.
//
// Torn writes in version 1: a segment is zeros before it is used, and a disk writes 512 bytes
// completely or not at all. So an incomplete frame has a sector that is zero but should not be, or
// (if cut at any byte) ends in zeros. "Zero sectors" counts those of its 512-byte pieces that are
// legitimately zero. A frame with a wrong checksum that does NOT look like that was complete once:
// it is damage.

#include "protocol/base/result.hpp"
#include "protocol/raft/core.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::storage {

inline constexpr std::size_t sector_bytes = 512;
inline constexpr std::size_t segment_header_bytes = sector_bytes;
inline constexpr std::size_t frame_align = 32;
inline constexpr std::size_t frame_header_bytes = 32; // never crosses a sector, because frames are aligned to it
inline constexpr std::size_t frame_trailer_bytes = 8;
inline constexpr std::size_t body_bytes_max = 1u << 30;

enum class segment_version : std::uint32_t { aligned_frames = 1, sectors = 2 };

/// State of the log when the segment began.
struct segment_header {
  segment_version version = segment_version::aligned_frames;
  std::uint64_t number = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t salt = 0;
  std::uint64_t first_sequence = 0;
  log_index next_index; ///< index of the next entry, unless it truncates
  raft::hard_state hard;
};

std::string encode_segment_header(const segment_header& h);
/// @returns a failure that says what is wrong with it.
result<segment_header> decode_segment_header(std::string_view bytes);

/// Seed of the checksums and tags in a segment.
std::uint32_t crc_seed(const segment_header& s);

/// Size of a whole frame with a body of `body_bytes`.
std::size_t frame_bytes(std::size_t body_bytes);

/// Replaces `out` by a frame with a blank header, which seal_frame() fills in.
/// @pre the body has at most body_bytes_max bytes (see batches_bytes_max)
void encode_frame(const std::vector<raft::persist_batch>& batches, std::string& out);
/// The body of an encoded frame, sealed or not.
std::string_view encoded_body(std::string_view frame);
/// Never less than the size of the body.
std::size_t batches_bytes_max(const std::vector<raft::persist_batch>& batches);
/// Fills in the header of a frame that will be written at `offset` of segment `s`.
void seal_frame(std::string& frame, const segment_header& s, std::uint64_t sequence, std::uint64_t offset);

struct frame_header {
  std::size_t body_bytes = 0;
  std::uint64_t sequence = 0;
  std::uint32_t body_crc = 0;
  std::size_t zero_sectors = 0;
};

/// nullopt: these 32 bytes are not a frame header of segment `s`.
std::optional<frame_header> decode_frame_header(std::string_view bytes, const segment_header& s);

enum class frame_state : std::uint8_t {
  whole,
  none,    ///< nothing: the header is zeros
  torn,    ///< looks like an incomplete write
  damaged, ///< was complete once, or never was a frame
};

/// What is at `offset` of the file `all`, where the frame with `sequence` is expected.
struct frame_look {
  frame_state state = frame_state::none;
  std::string_view body; ///< set if whole
  std::size_t bytes = 0; ///< if whole: size of the frame
};
/// @param buffer may receive the body, to which the result then refers
frame_look look_at_frame(std::string_view all, std::size_t offset, std::uint64_t sequence, const segment_header& s,
                         std::string& buffer);

/// Offset of the first valid frame header from `offset` on and after `sequence`; nullopt: none.
std::optional<std::size_t> find_later_frame(std::string_view all, std::size_t offset, std::uint64_t sequence,
                                            const segment_header& s);

/// Size of what must be wiped after the last frame, which ends at `offset`, before the next write.
std::size_t tail_to_wipe(std::string_view all, std::size_t offset, const segment_header& s);

/// nullopt: malformed. Tokens are zero. Checks that the entries of one batch are contiguous.
std::optional<std::vector<raft::persist_batch>> decode_body(std::string_view body);

bool all_zero(std::string_view bytes);

} // namespace belay::storage
