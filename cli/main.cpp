#include "cli/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const bool screen = ::isatty(STDOUT_FILENO) == 1;
  // A caller may give no name at all, and then there are no words.
  return belay::cli::run({argv + std::min(argc, 1), argv + argc},
                         {std::cin, std::cout, std::cerr, screen, argc > 0 ? argv[0] : ""});
}
