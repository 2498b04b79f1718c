#include "cli/help/nearest.hpp"

#include <algorithm>

namespace belay::cli {

namespace {

constexpr std::size_t letters_max = 64; // no command or flag is longer

/// The edit distance of optimal string alignment.
std::size_t changes(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

} // namespace

std::string_view nearest(std::string_view wrong, const std::vector<std::string_view>& words) {
  if (wrong.empty() || wrong.size() > letters_max)
    return {};
  std::string_view best;
  std::size_t fewest = 4;
  for (const auto word : words) {
    auto n = changes(wrong, word);
    if (wrong.size() >= 3 && word.starts_with(wrong))
      n = std::min<std::size_t>(n, 1);
    if (n < fewest && n * 3 <= std::max(wrong.size(), word.size())) {
      fewest = n;
      best = word;
    }
  }
  return best;
}

} // namespace belay::cli
