#include "protocol/archive/gzip_stream.hpp"

#include "protocol/base/check.hpp"

#include <zlib.h>

namespace belay::archive {

struct gzip_stream::impl {
  z_stream z{};
  bool begun = false;
  ~impl() {
    if (begun)
      deflateEnd(&z);
  }
};

gzip_stream::gzip_stream() : impl_(std::make_unique<impl>()) {
  // The parameters of append_gzip().
  constexpr int gzip_window = 15 + 16, level = 1, memory = 8;
  impl_->begun = deflateInit2(&impl_->z, level, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) == Z_OK;
  if (!impl_->begun)
    impl_.reset();
}

gzip_stream::~gzip_stream() = default;
gzip_stream::gzip_stream(gzip_stream&&) noexcept = default;
gzip_stream& gzip_stream::operator=(gzip_stream&&) noexcept = default;

void gzip_stream::append(std::string& out, std::string_view bytes, bool last) {
  PRECONDITION(ok());
  auto& z = impl_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  for (;;) {
    const auto begin = out.size();
    const auto bound = deflateBound(&z, z.avail_in);
    out.resize(begin + bound);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
    z.avail_out = static_cast<uInt>(bound);
    const auto returned = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    INVARIANT(returned != Z_STREAM_ERROR);
    out.resize(begin + bound - z.avail_out);
    if (last ? returned == Z_STREAM_END : z.avail_in == 0 && z.avail_out != 0)
      return;
  }
}

} // namespace belay::archive
