#include "cli/output/progress_line.hpp"

#include "cli/output/escaped_output.hpp"

#include <algorithm>
#include <ostream>

namespace belay::cli {

void progress_line::show(const std::string& text) {
  if (!screen_ || clock::now() < next_)
    return;
  next_ = clock::now() + std::chrono::seconds(1);
  write_over_line(out_);
  out_ << text << std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') << std::flush;
  width_ = std::max<std::size_t>(text.size(), 1);
}

void progress_line::end() {
  if (width_ > 0)
    out_ << "\n" << std::flush;
  width_ = 0;
}

} // namespace belay::cli
