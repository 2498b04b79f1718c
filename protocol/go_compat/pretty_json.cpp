#include "protocol/go_compat/pretty_json.hpp"

namespace belay::go_compat {

void pretty_json::append(std::string& out, std::string_view compact) {
  const auto new_line = [&] {
    out += '\n';
    out.append(depth_ * 4, ' ');
  };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    switch (c) {
    case '"': {
      auto end = i + 1;
      while (end < compact.size() && compact[end] != '"')
        end += compact[end] == '\\' ? 2 : 1;
      out.append(compact.substr(i, end + 1 - i));
      i = end;
      break;
    }
    case '{':
    case '[':
      out += c;
      if (i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
        out += compact[++i];
        break;
      }
      ++depth_;
      new_line();
      break;
    case '}':
    case ']':
      depth_ -= depth_ > 0 ? 1 : 0;
      new_line();
      out += c;
      break;
    case ',':
      out += c;
      new_line();
      break;
    case ':':
      out += ": ";
      break;
    default:
      out += c;
    }
  }
}

} // namespace belay::go_compat
