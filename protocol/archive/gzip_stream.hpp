#pragma once
// Gzip content encoding (RFC 1952), piece by piece: the same bytes as from append_gzip() at once.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace belay::archive {

class gzip_stream {
public:
  gzip_stream();
  ~gzip_stream();
  gzip_stream(gzip_stream&&) noexcept;
  gzip_stream& operator=(gzip_stream&&) noexcept;

  /// @returns false: no memory for the compressor; nothing can be appended
  bool ok() const { return impl_ != nullptr; }
  /// Appends the output so far. @pre ok(), and none before was the last
  void append(std::string& out, std::string_view bytes, bool last);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::archive
