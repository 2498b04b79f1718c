#include "actors/node/config/places.hpp"

#include <algorithm>

namespace belay::actors {

const text_places* text_places::member(std::string_view key) const {
  const auto found = members.find(std::string(key));
  return found == members.end() ? nullptr : &found->second;
}

text_place text_position::at(std::size_t offset) {
  for (offset = std::min(offset, text_.size()); offset_ < offset; ++offset_) {
    const auto c = static_cast<unsigned char>(text_[offset_]);
    if (c == '\n')
      place_ = {place_.line + 1, 1};
    else if ((c & 0xC0) != 0x80) // not inside a character
      ++place_.column;
  }
  return place_;
}

std::string config_place::shown() const {
  if (at.line == 0)
    return source;
  return source + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string element_path(std::string_view path, std::size_t i) {
  return std::string(path) + "[" + std::to_string(i) + "]";
}

} // namespace belay::actors
