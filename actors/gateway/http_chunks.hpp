#pragma once
// Decodes chunked bodies (RFC 9112 section 7.1), however the bytes are split. Beast has a decoder,
// but in a build with assertions it aborts when an empty body arrives byte by byte.

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::actors {

class chunk_decoder {
public:
  enum class state { more, complete, broken, too_large };

  /// Appends the body bytes in `input` to `body`.
  /// @param body_max a larger `body` is too_large
  /// @param used bytes consumed; all of them if the result is `more`
  state decode(std::string_view input, std::string& body, std::size_t body_max, std::size_t& used);

private:
  enum class at : std::uint8_t {
    size,
    size_blank,
    extension,
    size_end,
    data,
    data_cr,
    data_lf,
    trailer_start,
    trailer,
    trailer_end,
    end
  };

  state step(char c);

  at at_ = at::size;
  int digits_ = 0;
  std::uint64_t left_ = 0;      ///< bytes missing in this chunk
  std::size_t extra_bytes_ = 0; ///< bytes of extensions and trailers, which are ignored
};

} // namespace belay::actors
