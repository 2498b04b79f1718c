#pragma once
// The console: the page at /ui/ and what it is made of, as files that are part of the program (docs/console.md).

#include "protocol/http/response.hpp"

#include <map>
#include <string>
#include <string_view>

namespace belay::http {

struct console_file {
  std::string_view content_type; ///< static text
  payload plain, gzip;           ///< the same, twice
};

/// Fixed while the process lives.
struct console_files {
  /// By their paths below /ui/. The page itself has the empty path; all others lie in a folder whose name is a hash of all of them, so that
  /// they may be kept forever by who has them.
  std::map<std::string, console_file, std::less<>> files;
  std::string page_tag; ///< ETag of the page, quoted
};

/// What a browser says of the copy that it wants.
struct console_wish {
  std::string_view method;
  bool gzip = false;              ///< it takes that
  std::string_view if_none_match; ///< header; empty: none
};

/// @param path decoded, below route_settings::console_path. @returns 200, 304, 404 for what is not there, 405 for other methods than GET and HEAD. A body of a
/// HEAD or of a 304 is one that is not to be sent: its length is told.
response console_answer(const console_files& console, std::string_view path, const console_wish& wish);

} // namespace belay::http
