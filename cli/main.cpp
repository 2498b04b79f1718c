#include "cli/output/escaped_output.hpp"
#include "cli/process/init_process.hpp"
#include "cli/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) {
  if (belay::cli::is_first_process())
    if (const auto code = belay::cli::continue_in_child())
      return *code;
  std::ios::sync_with_stdio(false);
  const bool screen = ::isatty(STDOUT_FILENO) == 1;
  belay::cli::escaped_output shown(*std::cout.rdbuf()), complaints(*std::cerr.rdbuf());
  std::ostream out(screen ? &shown : std::cout.rdbuf());
  std::ostream err(::isatty(STDERR_FILENO) == 1 ? &complaints : std::cerr.rdbuf());
  err << std::unitbuf;
  // A caller may pass no name at all; then there are no words.
  return belay::cli::run({argv + std::min(argc, 1), argv + argc},
                         {std::cin, out, err, screen, argc > 0 ? argv[0] : ""});
}
