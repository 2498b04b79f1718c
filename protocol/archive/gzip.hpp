#pragma once
// The gzip content encoding (RFC 1952).

#include <string>
#include <string_view>

namespace belay::archive {

/// Appends `bytes` as a gzip member. @returns false, `out` unchanged: no memory for the compressor.
bool append_gzip(std::string& out, std::string_view bytes);

} // namespace belay::archive
