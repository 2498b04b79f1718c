#pragma once
// A folder as one gzipped tar (POSIX ustar).

#include "protocol/base/result.hpp"

#include <string>
#include <utility>
#include <vector>

namespace belay::cli {

struct tar_entry {
  std::string name; ///< at most 100 bytes; of a folder with a slash at its end
  std::string content;
};

/// The archive's bytes. The failure says which name is too long, or that memory is short.
result<std::string> gzipped_tar(const std::vector<tar_entry>& entries, std::int64_t time_s);

} // namespace belay::cli
