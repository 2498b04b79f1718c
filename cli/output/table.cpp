#include "cli/output/table.hpp"

#include <algorithm>

namespace belay::cli {

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t gap) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i)
        widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size())
        out.append(widths[i] + gap - row[i].size(), ' ');
    }
    out += '\n';
  }
  return out;
}

} // namespace belay::cli
