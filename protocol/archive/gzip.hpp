#pragma once
// The gzip content encoding (RFC 1952): at once, and piece by piece.

#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace belay::archive {

/// Appends `bytes` as a gzip member. @returns false, `out` unchanged: no memory for the compressor.
bool append_gzip(std::string& out, std::string_view bytes);

/// Pieces of any size give the same bytes as append_gzip() of a large text.
class gzip_stream {
public:
  gzip_stream();

  /// @returns false: no memory for the compressor; nothing can be appended
  bool ok() const { return z_ != nullptr; }
  /// Appends the output so far. @pre ok(), and none before was the last
  void append(std::string& out, std::string_view bytes, bool last);

private:
  struct end {
    void operator()(z_stream_s* z) const;
  };
  std::unique_ptr<z_stream_s, end> z_;
};

} // namespace belay::archive
