#pragma once
// Runs the program in this process.

#include "cli/program.hpp"

#include <sstream>
#include <string>

namespace belay::cli {

struct response {
  int code;
  std::string out, err;
};

/// @param screen whether its output is a terminal
inline response run_cli(const arguments& words, const std::string& input = "", bool screen = false) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = run(words, {in, out, err, screen});
  return {code, out.str(), err.str()};
}

} // namespace belay::cli
