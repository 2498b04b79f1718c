#pragma once
// Hash for tables that are searched by views of their keys.

#include <functional>
#include <string_view>

namespace belay {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
};

} // namespace belay
