#include "protocol/archive/gzip.hpp"

#include "protocol/base/check.hpp"

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
  gzip_stream z;
  if (z.ok())
    z.append(out, bytes, true);
  return z.ok();
}

void gzip_stream::end::operator()(z_stream_s* z) const {
  deflateEnd(z);
  delete z;
}

gzip_stream::gzip_stream() : z_(new z_stream{}) {
  constexpr int gzip_window = 15 + 16; // zlib: +16 requests the gzip wrapper
  // Level 1: on JSON within a few percent of level 6 at a
  // third of its time, and this blocks the HTTP thread.
  constexpr int level = 1, memory = 8;
  if (deflateInit2(z_.get(), level, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    z_.reset();
}

void gzip_stream::append(std::string& out, std::string_view bytes, bool last) {
  PRECONDITION(ok());
  z_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z_->avail_in = static_cast<uInt>(bytes.size());
  for (;;) {
    const auto begin = out.size();
    const auto bound = deflateBound(z_.get(), z_->avail_in);
    out.resize(begin + bound);
    z_->next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    z_->avail_out = static_cast<uInt>(bound);
    const auto returned = deflate(z_.get(), last ? Z_FINISH : Z_NO_FLUSH);
    INVARIANT(returned != Z_STREAM_ERROR);
    out.resize(begin + bound - z_->avail_out);
    if (last ? returned == Z_STREAM_END : z_->avail_in == 0 && z_->avail_out != 0)
      return;
  }
}

} // namespace belay::archive
