#pragma once
// Indents compact JSON by four spaces, for ?pretty, if the text comes in pieces.

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::go_compat {

class pretty_json {
public:
  /// A piece may end anywhere except in a string or between the brackets of an empty container.
  void append(std::string& out, std::string_view compact);

private:
  std::size_t depth_ = 0;
};

} // namespace belay::go_compat
