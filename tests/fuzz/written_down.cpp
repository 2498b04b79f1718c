#include "tests/fuzz/subjects.hpp"

namespace belay::fuzz {

bool parse_written_down(std::string_view bytes, http::raw_request& r) {
  const auto head_end = bytes.find("\n\n");
  if (head_end == std::string_view::npos)
    return false;
  auto head = bytes.substr(0, head_end);
  const auto take_line = [&head] {
    const auto line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    return line;
  };
  const auto first = take_line();
  const auto space = first.find(' ');
  if (space == std::string_view::npos)
    return false;
  r.method = first.substr(0, space);
  r.target = first.substr(space + 1);
  while (!head.empty()) {
    const auto line = take_line();
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos)
      return false;
    r.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  r.body = bytes.substr(head_end + 2);
  r.remote_address = "127.0.0.1";
  return true;
}

} // namespace belay::fuzz
