#pragma once
// The console: the page at /ui/ and its files, which are part of the program (docs/reference/console.md).

#include "protocol/http/response.hpp"

#include <map>
#include <string>
#include <string_view>

namespace belay::http {

struct console_file {
  std::string_view content_type; ///< static text
  payload plain, gzip;           ///< the same content in both encodings
};

/// Fixed while the process lives.
struct console_files {
  /// The files by their path below /ui/. The page itself has the empty path. All others are in a
  /// folder whose name is a hash of all of them, so that clients may cache them forever.
  std::map<std::string, console_file, std::less<>> files;
  std::string page_tag; ///< ETag of the page, quoted
};

/// A browser's request for a file.
struct console_options {
  std::string_view method;
  bool gzip = false;              ///< it accepts gzip
  std::string_view if_none_match; ///< header; empty: none
};

/// @param path decoded, below route_settings::console_path. @returns 200, 304, 404 (unknown) or 405
/// (not GET or HEAD). Do not send the body of a HEAD or 304 response: it only gives the length.
response console_answer(const console_files& console, std::string_view path, const console_options& options);

} // namespace belay::http
