#pragma once
// The gzip content encoding (RFC 1952).

#include <string>
#include <string_view>

namespace belay::archive {

/// Appends `bytes` as one gzip member. @returns false, with `out` unchanged, if memory for the compressor is short.
bool append_gzip(std::string& out, std::string_view bytes);

} // namespace belay::archive
