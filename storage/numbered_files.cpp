#include "storage/numbered_files.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

namespace belay::storage {

std::vector<std::pair<std::int64_t, std::filesystem::path>>
numbered_files(const std::filesystem::path& folder, std::string_view begins, std::string_view ends) {
  std::vector<std::pair<std::int64_t, std::filesystem::path>> out;
  std::error_code wrong;
  // Not a range-based loop: its ++ throws if the folder cannot be read any more.
  for (std::filesystem::directory_iterator it(folder, wrong), end; !wrong && it != end; it.increment(wrong)) {
    const auto name = it->path().filename().string();
    if (name.size() <= begins.size() + ends.size() || !name.starts_with(begins) || !name.ends_with(ends))
      continue;
    const auto* digits = name.data() + begins.size();
    const auto* behind = name.data() + name.size() - ends.size();
    std::int64_t number = 0;
    if (const auto r = std::from_chars(digits, behind, number); r.ec == std::errc{} && r.ptr == behind && number > 0)
      out.emplace_back(number, it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace belay::storage
