#pragma once
// The gzip content encoding (RFC 1952) of bytes that come in pieces: the same bytes as those of append_gzip() for all of them at once.

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

  /// @returns false: memory for the compressor is short; nothing can be appended
  bool ok() const { return impl_ != nullptr; }
  /// Appends what comes out by now. @pre ok(), and none before was the last
  void append(std::string& out, std::string_view bytes, bool last);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::archive
