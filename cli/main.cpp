#include "cli/verbs.hpp"

#include <iostream>

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return belay::cli::run({argv + 1, argv + argc}, {std::cin, std::cout, std::cerr});
}
