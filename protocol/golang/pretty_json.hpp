#pragma once
// Compact JSON with four-space indentation, as ?pretty asks, for text that comes in pieces.

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::golang {

class pretty_json {
public:
  /// A piece ends anywhere but inside a string or between the brackets of an empty list or object.
  void append(std::string& out, std::string_view compact);

private:
  std::size_t depth_ = 0;
};

} // namespace belay::golang
