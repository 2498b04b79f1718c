#include "actors/node/config/source_locations.hpp"

#include <algorithm>

namespace belay::actors {

const file_locations* file_locations::member(std::string_view key) const {
  const auto found = members.find(std::string(key));
  return found == members.end() ? nullptr : &found->second;
}

file_location text_position::at(std::size_t offset) {
  for (offset = std::min(offset, text_.size()); offset_ < offset; ++offset_) {
    const auto c = static_cast<unsigned char>(text_[offset_]);
    if (c == '\n')
      location_ = {location_.line + 1, 1};
    else if ((c & 0xC0) != 0x80) // not inside a character
      ++location_.column;
  }
  return location_;
}

std::string source_location::shown() const {
  if (at.line == 0)
    return source;
  return source + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string element_path(std::string_view path, std::size_t i) {
  return std::string(path) + "[" + std::to_string(i) + "]";
}

} // namespace belay::actors
