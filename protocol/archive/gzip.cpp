#include "protocol/archive/gzip.hpp"

#include <zlib.h>

#include <cstdint>

namespace belay::archive {

namespace {

// Go clients request gzip on every request by default. For small responses zlib's setup
// would dominate, with little gain: they become a stored block, which is gzip as well.
constexpr std::size_t stored_bytes_max = 512;

void append_little_endian(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

/// RFC 1952 header | RFC 1951 block type 0: final, length, complement, bytes | CRC32 | length
void append_stored(std::string& out, std::string_view bytes) {
  constexpr char header[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff";
  const auto length = static_cast<std::uint32_t>(bytes.size());
  out.append(header, 10);
  out += '\x01';
  append_little_endian(out, length, 2);
  append_little_endian(out, ~length, 2);
  out.append(bytes);
  append_little_endian(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), length)),
                       4);
  append_little_endian(out, length, 4);
}

} // namespace

bool append_gzip(std::string& out, std::string_view bytes) {
  if (bytes.size() <= stored_bytes_max) {
    append_stored(out, bytes);
    return true;
  }
  z_stream z{};
  constexpr int gzip_window = 15 + 16; // zlib: +16 requests the gzip wrapper
  // Level 1: on JSON within a few percent of level 6 at a
  // third of its time, and this blocks the HTTP thread.
  if (deflateInit2(&z, 1, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return false;
  const auto begin = out.size();
  const auto bound = deflateBound(&z, static_cast<uLong>(bytes.size()));
  out.resize(begin + bound);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
  z.avail_out = static_cast<uInt>(bound);
  const bool done = deflate(&z, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? begin + z.total_out : begin);
  deflateEnd(&z);
  return done;
}

} // namespace belay::archive
