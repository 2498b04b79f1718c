#include "protocol/base/mutants.hpp"
#include "sim/program/program.hpp"

#include <csignal>
#include <iostream>
#include <thread>
#include <unistd.h>

namespace {

volatile std::sig_atomic_t interrupted = 0;

} // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // A second Ctrl-C kills.
  struct sigaction once {};
  once.sa_handler = [](int) { interrupted = 1; };
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &once, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  belay::sim::program_parts parts{
      .name = argv[0],
      .run = belay::sim::run,
      .profile_named = belay::sim::profile_named,
      .names = {.profiles = belay::sim::profile_names(), .mutants = {}},
      .activate_mutant = [](const std::string& name) { return belay::activate_mutant(name); },
      .processors = std::thread::hardware_concurrency(),
      .interactive = ::isatty(2) == 1,
      .stop = [] { return interrupted != 0; },
      .out = std::cout,
      .err = std::cerr};
  for (const auto name : belay::mutant_names())
    parts.names.mutants.emplace_back(name);
  return belay::sim::run_program({argv + 1, argv + argc}, parts);
}
